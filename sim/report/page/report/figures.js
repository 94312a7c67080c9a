/* Figures as people read them: results/format.h's rules. */

let precision = 3,
    fills = true;   /* more digits on an axis whose ticks lie close together; no noughts at the end of its figures */
const formats = {}; /* a formatter takes longer to make than to use */
const format = (least, most) => formats[`${least} ${most}`] = formats[`${least} ${most}`] ||
    new Intl.NumberFormat("en", {minimumFractionDigits: least, maximumFractionDigits: most});
function digits(x) {
  const rounded = Number(x.toPrecision(precision)),
        decimals = rounded && fills ? Math.max(0, precision - 1 - Math.floor(Math.log10(Math.abs(rounded)) + 1e-9)) : 0;
  return format(Math.min(decimals, 12), Math.max(decimals, fills ? 0 : 12)).format(rounded);
}
const tick = text => {
  fills = false;
  const t = text();
  fills = true;
  return t;
};
function scaled(x, unit, base) {
  if (!has(x)) return "";
  if (x === 0) return "0 " + unit;
  const names = ["p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"], size = Math.abs(x);
  let i = Math.max(0, Math.min(10, Math.floor(Math.log10(size) / 3 + 1e-9) + 4));
  if (base === 0) i = Math.max(i, 4);
  return digits(x / 10 ** (3 * (i - 4))) + " " + names[i] + unit;
}
const portion = x => !has(x) ? "" : x > 0 && x < 0.0005 ? "<0.1 %" : percent(x);
const seconds = x => has(x) && x >= 1000 ? digits(x) + " s" : scaled(x, "s"), bytes = x => scaled(x, "B", 0),
      percent = x => has(x) ? (100 * x).toFixed(1) + " %" : "";
const count = x =>
          has(x) ? (Math.abs(x) >= 1000 || Number.isInteger(x) ? format(0, 0).format(Math.round(x)) : digits(x)) : "",
      amount = x => scaled(x, "", 0).trim();
const money = x => Math.abs(x) >= 1e9 ? digits(x / 1e9) + " billion"
    : Math.abs(x) >= 1e6              ? digits(x / 1e6) + " M"
    : Math.abs(x) >= 1e3              ? digits(x / 1e3) + " k"
                                      : digits(x);
const closely = (n, text) => {
  const before = precision;
  precision = Math.max(precision, n);
  const t = text();
  precision = before;
  return t;
};
/* As many digits of a value, three at most, as the range of eight of ten cases supports: results/format.h's rule. */
function supported(range, value, text) {
  const half = (range.p90 - range.p10) / 2, first = value > 0 ? Math.floor(Math.log10(value)) : 0,
        last = half > 0 ? Math.floor(Math.log10(half)) : first - 2;
  const before = precision;
  precision = Math.max(1, Math.min(3, first - last + 1));
  const t = text(value);
  precision = before;
  return t;
}
/* Days so: whole ones where they are tens or hundreds; where the middle is below a day in hours, minutes or seconds. */
function supportedDays(range, days) {
  const middle = range.p50, long = middle >= 0.95 || !(middle > 0);
  if (long && days >= 10 && days < 1000) return Math.round(days).toString();
  if (long) return supported(range, days, digits);
  const [unit, by] = middle >= 2 / 24 ? ["h", 24] : middle >= 2 / 1440 ? ["min", 1440] : ["s", 86400];
  return supported({p10: by * range.p10, p90: by * range.p90}, by * days, digits) + " " + unit;
}
/* Eight of ten cases: "38 to 46 days", "5 h to 7 h". */
function daysText(range) {
  if (!range || !has(range.p10)) return "";
  const text = `${supportedDays(range, range.p10)} to ${supportedDays(range, range.p90)}`;
  return /\d$/.test(text) ? text + " days" : text;
}
const rangeText = (range, text) =>
    range && has(range.p10) ? `${supported(range, range.p10, text)} to ${supported(range, range.p90, text)}` : "";
const usd = x => has(x) ? money(x) + " USD" : "", memory = x => has(x) ? closely(4, () => digits(x / 1e9)) + " GB" : "",
      energy = j => has(j) ? Math.abs(j) < 3600 ? scaled(j, "J") : scaled(j / 3600, "Wh", 0) : "";
const kilograms = x => !has(x) ? ""
    : Math.abs(x) >= 1e6       ? digits(x / 1e6) + " kt"
    : Math.abs(x) >= 1e3       ? digits(x / 1e3) + " t"
                               : digits(x) + " kg";
const span = s => has(s) ? s < 120 ? seconds(s) : s < 7200 ? digits(s / 60) + " min" : digits(s / 3600) + " h" : "";
const lasting = days => !has(days) ? "" : days < 1 ? span(86400 * days) : digits(days) + " days";
