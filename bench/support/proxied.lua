-- What a proxy adds to each request: an id of its own, and the address of one of many clients.
local count = 0

function request()
  count = count + 1
  wrk.headers["X-Request-Id"] = string.format("%08x-bench-%08x", count, count * 7919 % 1048576)
  wrk.headers["X-Forwarded-For"] =
    string.format("10.%d.%d.%d", count % 199, count * 31 % 251, count * 17 % 241)
  wrk.headers["X-Forwarded-Proto"] = "https"
  wrk.headers["X-Forwarded-Host"] = "logs.example.com"
  wrk.headers["Via"] = "1.1 proxy"
  return wrk.format()
end
