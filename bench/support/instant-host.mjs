/** Answers each request at once, with as many bytes as the number that its body begins with. */
import { createServer } from 'node:http'

const bodies = new Map()

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const bytes = Number.parseInt(Buffer.concat(chunks).toString(), 10)
    const body = bodies.get(bytes) ?? Buffer.alloc(bytes, 'x')
    bodies.set(bytes, body)
    response.writeHead(200, {
      'X-ClickHouse-Summary': '{"read_rows":"1","read_bytes":"1"}',
      'Content-Length': bytes,
    })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
