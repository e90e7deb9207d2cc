/** Answers each request on a socket at once, with as many bytes as the number that its body begins with. */
import { createServer } from 'node:http'

const bodies = new Map()

createServer((request, response) => {
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
}).listen(process.argv[2], () => process.send('ready'))
