import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { fromNative } from './exceptions.ts'
import type { QueryRunner } from './query-runner.ts'
import { readRequest } from './request.ts'

/** Serves the part of ClickHouse's HTTP interface that the service uses. */
export function createHostServer(runner: QueryRunner): Server {
  const server = createServer({ maxHeaderSize: 2 ** 20, requestTimeout: 0 }, (message, response) => {
    if (message.url === '/ping') return void response.end('Ok.\n')
    void respond(runner, message, response)
  })
  server.keepAliveTimeout = 60_000
  return server
}

async function respond(
  runner: QueryRunner,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  try {
    const request = await readRequest(message)
    const { bytes, read = {} } = await runner.run(request, gone.signal)
    if (gone.signal.aborted) return
    response.writeHead(200, {
      'X-ClickHouse-Summary': JSON.stringify(read),
      'Content-Length': bytes.length,
    })
    response.end(bytes)
  } catch (error) {
    if (gone.signal.aborted) return
    const { engineCode, text } = fromNative(error)
    response.writeHead(500, {
      'Content-Type': 'text/plain; charset=UTF-8',
      'X-ClickHouse-Exception-Code': String(engineCode),
    })
    response.end(text)
  }
}
