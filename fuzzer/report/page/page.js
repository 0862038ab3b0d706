(function () {
  "use strict";
  var root = document.documentElement;
  var dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  var kept = null;
  try { kept = localStorage.getItem("specfuzz-theme"); } catch (refused) { kept = null; }
  var toggle = document.getElementById("theme");
  function theme(name) {
    var other = name === "dark" ? "light" : "dark";
    root.dataset.theme = name;
    toggle.textContent = "theme: " + name;
    toggle.setAttribute("aria-label", "theme: " + name + ", switch to " + other);
  }
  theme(kept === "dark" || kept === "light" ? kept : dark ? "dark" : "light");
  toggle.addEventListener("click", function () {
    theme(root.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("specfuzz-theme", root.dataset.theme); } catch (refused) { return; }
  });
  function matcher(wanted) {
    var text = wanted.trim().toLowerCase();
    if (!/^\d[\d.,]*$/.test(text)) { return function (within) { return within.toLowerCase().indexOf(text) >= 0; }; }
    var whole = new RegExp("(^|[^\\w.,])" + text.replace(/[.]/g, "\\.") + "(?![\\w]|[.,]\\d)");
    return function (within) { return whole.test(within.toLowerCase()); };
  }
  function words(row) {
    return Array.prototype.map.call(row.cells, function (cell) { return cell.textContent.trim(); }).join(" | ");
  }
  function on(id, kind, act) {
    var node = document.getElementById(id);
    if (node) { node.addEventListener(kind, act); }
  }
  function number(text) {
    var found = /-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?/i.exec(text);
    return found ? parseFloat(found[0].replace(/,/g, "")) : NaN;
  }
  document.querySelectorAll("table[data-name]").forEach(function (table) {
    var heads = Array.prototype.slice.call(table.querySelectorAll("thead th"));
    heads.forEach(function (head, column) {
      head.querySelector("button").addEventListener("click", function () {
        var up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        var body = table.tBodies[0];
        Array.prototype.slice.call(body.rows).sort(function (one, two) {
          var a = one.cells[column].textContent, b = two.cells[column].textContent;
          var x = number(a), y = number(b);
          var order = isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y || a.localeCompare(b);
          return up ? order : -order;
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  });
  document.querySelectorAll("input[data-filter]").forEach(function (input) {
    var table = document.getElementById("t-" + input.dataset.filter);
    var count = document.querySelector('output[data-count="' + input.dataset.filter + '"]');
    var empty = table.parentNode.parentNode.querySelector(".empty");
    input.addEventListener("input", function () {
      var matches = matcher(input.value), rows = table.tBodies[0].rows, left = 0;
      Array.prototype.forEach.call(rows, function (row) {
        row.hidden = !matches(words(row));
        left += row.hidden ? 0 : 1;
      });
      count.textContent = input.value ? left + " of " + rows.length + " rows" : "";
      empty.hidden = left > 0 || !rows.length;
    });
  });
  function field(text) {
    var safe = /^[=+\-@\t\r]/.test(text) && isNaN(Number(text)) ? "'" + text : text;
    return '"' + safe.replace(/"/g, '""') + '"';
  }
  function cells(row) {
    return Array.prototype.map.call(row.cells, function (cell) {
      var text = cell.textContent.trim();
      return text === "-" ? "" : /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replace(/,/g, "") : text;
    });
  }
  document.querySelectorAll("button[data-csv]").forEach(function (button) {
    button.addEventListener("click", function () {
      var table = document.getElementById("t-" + button.dataset.csv);
      var lines = table.dataset.csvNames ? [JSON.parse(table.dataset.csvNames)] : [cells(table.tHead.rows[0])];
      Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        if (row.hidden) { return; }
        var told = row.dataset.csvRow ? [row] : row.querySelectorAll("td[data-csv-row]");
        if (!told.length && !table.dataset.csvNames) { lines.push(cells(row)); }
        Array.prototype.forEach.call(told, function (one) { lines.push(JSON.parse(one.dataset.csvRow)); });
      });
      lines = lines.map(function (line) { return line.map(field).join(","); });
      var link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
      link.download = "specfuzz-" + button.dataset.csv + ".csv";
      document.body.appendChild(link);
      link.click();
      link.remove();
      URL.revokeObjectURL(link.href);
    });
  });
  on("find", "input", function () {
    var wanted = this.value, matches = matcher(wanted), left = 0, best = null;
    var all = document.querySelectorAll("details.finding");
    document.querySelectorAll(".case.hit").forEach(function (one) { one.classList.remove("hit"); });
    all.forEach(function (finding) {
      finding.hidden = !matches(finding.textContent);
      left += finding.hidden ? 0 : 1;
      if (finding.hidden || !wanted || matches(finding.querySelector("summary").textContent)) { return; }
      finding.open = true;
      var hits = Array.prototype.filter.call(finding.querySelectorAll(".case"), function (one) {
        return matches(one.textContent);
      });
      var named = hits.filter(function (one) { return matches(one.querySelector("h3").textContent); })[0];
      var hit = named || hits[0];
      if (hit) {
        if (hit.closest("details.more")) { hit.closest("details.more").open = true; }
        hit.classList.add("hit");
        best = named && (!best || !best.named) ? { at: hit, named: true } : best || { at: hit, named: false };
      }
    });
    document.getElementById("found").textContent = wanted ? left + " of " + all.length + " findings" : "";
    document.getElementById("nothing-found").hidden = left > 0 || !all.length;
    if (best) { best.at.scrollIntoView({ block: "start" }); }
  });
  on("unfold", "click", function () {
    var unfold = this;
    var open = unfold.textContent === "open all";
    document.querySelectorAll("details.finding, details.more").forEach(function (one) { one.open = open; });
    unfold.textContent = open ? "close all" : "open all";
  });
  function reveal() {
    var aim = location.hash && document.getElementById(location.hash.slice(1));
    for (var node = aim; node; node = node.parentElement) { if (node.tagName === "DETAILS") { node.open = true; } }
    if (aim) { aim.scrollIntoView(); }
  }
  window.addEventListener("hashchange", reveal);
  reveal();
  function says(button, word) {
    button.setAttribute("aria-live", "polite");
    button.textContent = word;
    window.setTimeout(function () { button.textContent = "copy"; }, 2000);
  }
  function copied(button) { says(button, "copied"); }
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.addEventListener("click", function () {
      var text = button.dataset.copy;
      if (navigator.clipboard && window.isSecureContext) {
        navigator.clipboard.writeText(text).then(function () { copied(button); }, function () { select(button); });
      } else { select(button); }
    });
  });
  function select(button) {
    var range = document.createRange();
    range.selectNodeContents(button.parentNode.querySelector(".command"));
    var selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    if (document.execCommand && document.execCommand("copy")) { copied(button); } else { says(button, "selected"); }
  }
  var shown = root.dataset.theme;
  window.addEventListener("beforeprint", function () {
    shown = root.dataset.theme;
    root.dataset.theme = "light";
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
  window.addEventListener("afterprint", function () { root.dataset.theme = shown; });
})();
