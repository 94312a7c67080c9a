UPDATE runs SET resolved_json = '{"schema": 1', scenario = 'a
b', version = '', started_at = '<b>'; UPDATE points SET set_json = '[{]', reason = '</script>'
