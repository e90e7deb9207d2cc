import { hasFeature } from '../../api/features.ts'
import { searchOf } from '../../api/search-of.ts'

/** A request or a configuration to copy. It never contains the token, because snippets get shared. */
export interface Snippet {
  name: string
  text: string
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The requests are strict, so that a mistyped parameter is refused and not ignored. */
export function callSnippets(origin: string, name: string, values: Record<string, string>): Snippet[] {
  const parameters = { ...values, _strict: '1' }
  const address = `${origin}/api/endpoints/query/${encodeURIComponent(name)}`
  const search = searchOf(parameters)
  const url = `${address}?${search}`
  const pairs = [...new Set(search.keys())].map((key) => {
    const [value, ...more] = search.getAll(key)
    return `        ${JSON.stringify(key)}: ${JSON.stringify(more.length > 0 ? [value, ...more] : value)},\n`
  })
  return [
    { name: 'curl', text: `curl -H "X-API-KEY: $WELLHEAD_TOKEN" \\\n  ${quoted(url)}` },
    {
      name: 'JavaScript',
      text: `const response = await fetch(${JSON.stringify(url)}, {
  headers: { 'X-API-KEY': process.env.WELLHEAD_TOKEN },
})
if (!response.ok) throw new Error((await response.json()).error.message)
const { result } = await response.json()`,
    },
    {
      name: 'Python',
      text: `import os, requests

response = requests.get(
    ${JSON.stringify(address)},
    params={
${pairs.join('')}    },
    headers={"X-API-KEY": os.environ["WELLHEAD_TOKEN"]},
)
response.raise_for_status()
rows = response.json()["result"]`,
    },
  ]
}

/**
 * How agents connect, for clients that take a URL and for those that start a command. Empty if the service has no tools for
 * them.
 */
export function agentSnippets(origin: string): Snippet[] {
  if (!hasFeature('mcp')) return []
  const server = { type: 'http', url: `${origin}/mcp`, headers: { 'X-API-KEY': `\${WELLHEAD_TOKEN}` } }
  return [
    { name: 'MCP', text: JSON.stringify({ mcpServers: { wellhead: server } }, null, 2) },
    { name: 'MCP command', text: `# Reads WELLHEAD_TOKEN.\nwellhead mcp --url ${origin}` },
  ]
}

/**
 * A frame with the chart of an endpoint. Its tokens come from the backend of the page and belong to a project, so they do not
 * take one as a parameter.
 */
export function embedSnippet(origin: string, name: string, values: Record<string, string>): Snippet {
  const { project: _, ...parameters } = values
  const query = searchOf({ ...parameters, _theme: 'light' })
  const url = `${origin}/embed/${encodeURIComponent(name)}?${query}`
  return {
    name: 'Embed',
    text: `<iframe id="chart" title=${JSON.stringify(name)} width="100%" height="320" style="border: 0"
  src="${url.replaceAll('&', '&amp;')}"></iframe>
<script>
  // The frame asks for a token when it has none, and when its session has ended.
  const frame = document.getElementById('chart')
  addEventListener('message', async ({ source, data }) => {
    if (source !== frame.contentWindow || data?.type !== 'wellhead:expired') return
    // Your backend creates a session: POST ${origin}/api/access-tokens/self/session
    const { token } = await (await fetch('/chart-session', { method: 'POST' })).json()
    frame.contentWindow.postMessage({ type: 'wellhead:token', token }, '${origin}')
  })
</script>`,
  }
}

/** Customers have a project; others learn that a source can say where entries have theirs. */
export function sendSnippets(origin: string, source: string, own?: string): Snippet[] {
  const project = own ?? 'demo'
  const url = `${origin}/api/logs?source=${source}`
  const { hostname, port, protocol } = new URL(origin)
  const isTls = protocol === 'https:'
  return [
    {
      name: 'curl',
      text: `curl -H "X-API-KEY: $WELLHEAD_TOKEN" '${url}' \\
  -d ${quoted(JSON.stringify({ project, event_message: 'hello', metadata: { level: 'info' } }))}`,
    },
    {
      name: 'Vector',
      text: `[sinks.wellhead]
type = "http"
inputs = ["my_source"]
uri = "${url}"
encoding.codec = "json"
framing.method = "newline_delimited"
compression = "gzip"
request.headers.X-API-KEY = "\${WELLHEAD_TOKEN}"
request.headers.Content-Type = "application/x-ndjson"`,
    },
    {
      name: 'Fluent Bit',
      text: `[OUTPUT]
    Name    http
    Match   *
    Host    ${hostname}
    Port    ${port || (isTls ? 443 : 80)}
    URI     /api/logs?source=${source}
    Format  json_lines
    Json_date_key     timestamp
    Json_date_format  iso8601
    Header  X-API-KEY \${WELLHEAD_TOKEN}${isTls ? '\n    tls     On' : ''}`,
    },
    {
      name: 'OpenTelemetry',
      text: `exporters:
  otlphttp:
    endpoint: ${origin}
    headers:
      X-API-KEY: \${env:WELLHEAD_TOKEN}
      X-Wellhead-Source: ${source}`,
    },
    {
      name: 'pino',
      text: `import pino from 'pino'

const log = pino(pino.transport({
  target: '@wellhead/client/pino',
  options: { url: '${origin}', token: process.env.WELLHEAD_TOKEN, source: '${source}' },
}))
${own === undefined ? '// Or set the path of the project in the source, such as customer.id.\n' : ''}log.info({ project: ${JSON.stringify(project)} }, 'hello')`,
    },
  ]
}
