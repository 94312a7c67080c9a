#!/usr/bin/env bash
# Builds the site of the documentation in the folder given: `make docs-site` (mkdocs, from Debian). tools/site/build.sh FOLDER
#
# The pages are README, docs/, CONTRIBUTING and CHANGELOG, with links turned to where the pages lie. docs/accuracy.md gets a chart of all
# measured runs, from hardware/calibration. A link that leads nowhere, and a page that the menu does not name,
# are errors.
set -eu
cd "$(dirname "$0")/../.."
folder=$1
pages=$folder/pages
rm -rf "$folder"
mkdir -p "$pages"
cp -r docs/. "$pages"
for page in README CONTRIBUTING CHANGELOG; do sed 's|](docs/|](|g' "$page.md" >"$pages/$page.md"; done
mv "$pages/README.md" "$pages/index.md"
cp LICENSE "$pages/LICENSE.txt"
sed -i 's|](LICENSE)|](LICENSE.txt)|' "$pages/index.md"
sed -i -E 's#\]\(\.\./(CONTRIBUTING|CHANGELOG)\.md#](\1.md#g' "$pages"/*.md
# Files of the repository that pages name lie beside the pages.
grep -oh '](\.\./[^)#]*' "$pages"/*.md | sed 's|](\.\./||' | sort -u | while read -r file; do
  mkdir -p "$pages/files/$(dirname "$file")"
  cp "$file" "$pages/files/$file"
done
sed -i 's|](\.\./|](files/|g' "$pages"/*.md
sed -i '0,/^## /s|^## |<div id="accuracy-chart"></div>\n\n## |' "$pages/accuracy.md"
awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; printf "const ACCURACY_RUNS = ["; next}
  {printf "%s\n[\"%s\",\"%s\",\"%s\",%s,%s,%s]", (NR > 2 ? "," : ""), $at["case"], $at["accelerator"], $at["model"], $at["accelerators"],
     $at["step_time_s"], $at["measured_over_predicted"]} END {print "\n];"}' hardware/calibration/residuals.csv >"$pages/accuracy_runs.js"
cp sim/report/page/report/accuracy_chart.js tools/site/accuracy_page.js tools/site/site.css "$pages"
cp tools/site/mkdocs.yml "$folder/mkdocs.yml"
for page in "$pages"/*.md; do
  grep -q ": $(basename "$page")$" tools/site/mkdocs.yml || {
    echo "tools/site/mkdocs.yml: its menu does not name $(basename "$page")" >&2
    exit 1
  }
done
warnings=$(mkdocs build --strict --quiet --config-file "$folder/mkdocs.yml" 2>&1) || {
  printf '%s\n' "$warnings" >&2
  exit 1
}
[ -z "$warnings" ] || printf '%s\n' "$warnings" >&2
# Debian's theme names scripts that its package has under other names, or not at all: jQuery gets the name that the pages ask for
# (without it the menu does not open on a telephone), and links to the others go.
html=$folder/html
for script in $(grep -oE '<script src="[./]*js/[^"]+"' "$html/index.html" | sed -E 's|.*js/([^"]+)"|\1|'); do
  [ -e "$html/js/$script" ] && continue
  case $script in
  jquery-*) cp -L "$html"/js/jquery-*.min.js "$html/js/$script" ;;
  *) sed -i "s|<script src=\"\([./]*\)js/$script\"[^>]*></script>||" "$html"/*.html ;;
  esac
done
# Search that works from a folder, too (tools/site/search.js).
{
  printf 'const SEARCH_INDEX = '
  cat "$html/search/search_index.json"
} >"$html/search/search_index.js"
cp tools/site/search.js "$html/search/main.js"
rm "$html"/search/{worker,lunr}.js "$html/search/search_index.json"
