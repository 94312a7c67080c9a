UPDATE sweeps SET n_points = 999999999999, spec_json = '{"axes": {"a": [1, 2]}, "objective": "mfu"}'; UPDATE points SET set_json = '{"a": 1, "b": {"c": [1]}}'
