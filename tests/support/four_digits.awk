# Rounds predictions to four digits, so that a last digit that moves touches no expectation: numbers with a decimal point and
# more than seven digits, which nothing prints for people. Less than 1e-9 is the dust of a difference: 0.
{
  line = ""
  while (match($0, /-?[0-9]+\.[0-9]+(e[-+][0-9]+)?/)) {
    number = substr($0, RSTART, RLENGTH)
    digits = number
    sub(/e.*/, "", digits)
    gsub(/[-.]/, "", digits)
    sub(/^0+/, "", digits)
    if (length(digits) > 7) number = number * number < 1e-18 ? "0" : sprintf("%.4g", number)
    line = line substr($0, 1, RSTART - 1) number
    $0 = substr($0, RSTART + RLENGTH)
  }
  print line $0
}
