# Sourced by cases: what a text says, without its figures, bars and column widths, so that a change of the physics does
# not touch every expectation.
shape() {
    LC_ALL=C tr -d '\200-\377' | sed -E 's/([ ,])[-+]([0-9])/\1\2/g; s/[0-9]+([,.][0-9]+)*([eE][-+]?[0-9]+)?/#/g; s/ +/ /g; s/ $//'
}
# JSON without what differs between two runs of one thing.
steady() {
    sed -E 's/"(wall_s|peak_rss_bytes|run_id)": [0-9.e+-]+/"\1": #/g'
}
# A line of figures without the interval behind one: every new measured run moves intervals a little.
without_interval() {
    sed 's/ (.*//'
}
