/** How a call is written elsewhere. The token is never put in: texts like these are passed around. */
export interface Snippet {
  name: string
  text: string
}

/** As the files of senders write a variable of the environment. */
const fromEnvironment = ['$', '{WELLHEAD_TOKEN}'].join('')

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

export function callSnippets(origin: string, name: string, values: Record<string, string>): Snippet[] {
  const query = new URLSearchParams(values).toString()
  const url = `${origin}/api/endpoints/query/${encodeURIComponent(name)}${query && `?${query}`}`
  const pairs = Object.entries(values).map(
    ([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)},`,
  )
  return [
    { name: 'curl', text: `curl -H "X-API-KEY: $WELLHEAD_TOKEN" \\\n  ${quoted(url)}` },
    {
      name: 'fetch',
      text: [
        `const response = await fetch(${JSON.stringify(url)}, {`,
        "  headers: { 'X-API-KEY': process.env.WELLHEAD_TOKEN },",
        '})',
        'if (!response.ok) throw new Error((await response.json()).error.message)',
        'const { result } = await response.json()',
      ].join('\n'),
    },
    {
      name: 'Python',
      text: [
        'import os, requests',
        '',
        'response = requests.get(',
        `    ${JSON.stringify(`${origin}/api/endpoints/query/${encodeURIComponent(name)}`)},`,
        ...(pairs.length > 0 ? ['    params={', ...pairs.map((pair) => `    ${pair}`), '    },'] : []),
        '    headers={"X-API-KEY": os.environ["WELLHEAD_TOKEN"]},',
        ')',
        'response.raise_for_status()',
        'rows = response.json()["result"]',
      ].join('\n'),
    },
  ]
}

export function sendSnippets(origin: string, source: string): Snippet[] {
  const url = `${origin}/api/logs?source=${source}`
  const { hostname, port, protocol } = new URL(origin)
  const tls = protocol === 'https:'
  return [
    {
      name: 'curl',
      text: [
        `curl -H "X-API-KEY: $WELLHEAD_TOKEN" '${url}' \\`,
        `  -d '{"project":"demo","event_message":"hello","metadata":{"level":"info"}}'`,
      ].join('\n'),
    },
    {
      name: 'Vector',
      text: [
        '[sinks.wellhead]',
        'type = "http"',
        'inputs = ["my_source"]',
        `uri = "${url}"`,
        'encoding.codec = "json"',
        'framing.method = "newline_delimited"',
        'compression = "gzip"',
        `request.headers.X-API-KEY = "${fromEnvironment}"`,
        'request.headers.Content-Type = "application/x-ndjson"',
      ].join('\n'),
    },
    {
      name: 'Fluent Bit',
      text: [
        '[OUTPUT]',
        '    Name    http',
        '    Match   *',
        `    Host    ${hostname}`,
        `    Port    ${port || (tls ? 443 : 80)}`,
        `    URI     /api/logs?source=${source}`,
        '    Format  json_lines',
        '    Json_date_key     timestamp',
        '    Json_date_format  iso8601',
        `    Header  X-API-KEY ${fromEnvironment}`,
        ...(tls ? ['    tls     On'] : []),
      ].join('\n'),
    },
    {
      name: 'OpenTelemetry',
      text: [
        'exporters:',
        '  otlphttp:',
        `    endpoint: ${origin}`,
        '    headers:',
        `      X-API-KEY: ${fromEnvironment.replace('{', '{env:')}`,
        `      X-Wellhead-Source: ${source}`,
      ].join('\n'),
    },
    {
      name: 'pino',
      text: [
        "import pino from 'pino'",
        "import { createWriteStream } from 'pino-logflare'",
        '',
        'const log = pino({}, createWriteStream({',
        `  apiBaseUrl: '${origin}',`,
        '  apiKey: process.env.WELLHEAD_TOKEN,',
        `  sourceName: '${source}',`,
        '}))',
        "log.info({ project: 'demo' }, 'hello')",
      ].join('\n'),
    },
  ]
}
