#!/bin/sh
# Installs Pango's shared libraries, with which WeasyPrint draws the PDF, where that is allowed;
# else says the one line to type. The HTML report needs none of them.
packages="libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
python -c "import weasyprint" 2>/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Pango for the PDF: $packages"
    # shellcheck disable=SC2086 # a list of packages
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $packages; } >/dev/null
    python -c "import weasyprint" 2>/dev/null && exit 0
fi
echo "No PDF without Pango; to get it, type: sudo apt-get install $packages" >&2
