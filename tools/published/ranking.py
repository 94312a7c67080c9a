"""Rank correlation, for the scripts beside it."""


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    result, i = [0.0] * len(values), 0
    while i < len(order):
        k = i
        while k + 1 < len(order) and values[order[k + 1]] == values[order[i]]:
            k += 1
        for at in order[i:k + 1]:
            result[at] = (i + k) / 2
        i = k + 1
    return result


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    cross = sum((p - mx) * (q - my) for p, q in zip(x, y))
    return cross / (sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)) ** 0.5
