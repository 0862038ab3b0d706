(function () {
  "use strict";
  var root = document.documentElement;
  var dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").addEventListener("click", function () {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
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
    input.addEventListener("input", function () {
      var wanted = input.value.toLowerCase();
      Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
      });
    });
  });
  function field(text) {
    var safe = /^[=+\-@\t\r]/.test(text) && isNaN(Number(text)) ? "'" + text : text;
    return '"' + safe.replace(/"/g, '""') + '"';
  }
  document.querySelectorAll("button[data-csv]").forEach(function (button) {
    button.addEventListener("click", function () {
      var table = document.getElementById("t-" + button.dataset.csv);
      var lines = Array.prototype.map.call(table.rows, function (row) {
        return Array.prototype.map.call(row.cells, function (cell) { return field(cell.textContent.trim()); }).join(",");
      });
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
    var wanted = this.value.toLowerCase();
    document.querySelectorAll("details.finding").forEach(function (finding) {
      finding.hidden = finding.textContent.toLowerCase().indexOf(wanted) < 0;
    });
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
  function copied(button) {
    button.textContent = "copied";
    button.setAttribute("aria-live", "polite");
  }
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
    if (document.execCommand && document.execCommand("copy")) { copied(button); } else { button.textContent = "selected"; }
  }
  var shown = root.dataset.theme;
  window.addEventListener("beforeprint", function () {
    shown = root.dataset.theme;
    root.dataset.theme = "light";
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
  window.addEventListener("afterprint", function () { root.dataset.theme = shown; });
})();
