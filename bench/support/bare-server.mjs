/** Answers every request with the same bytes, and does nothing else: what node:http costs by itself. */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

const { status, headers, body } = await json(process.stdin)
const bytes = Buffer.from(body, 'base64')
const named = ['content-type', 'content-encoding', 'etag', 'cache-control']
const sent = Object.fromEntries(named.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])))
if (status === 200) sent['content-length'] = bytes.length
const server = createServer((_request, response) => {
  response.writeHead(status, sent)
  response.end(status === 200 ? bytes : undefined)
})
server.keepAliveTimeout = 65_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
process.once('SIGTERM', () => process.exit(0))
