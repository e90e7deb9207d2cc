import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type EngineException, exceptions, fromNative } from './exceptions.ts'
import type { HostOptions } from './protocol.ts'
import type { QueryRunner } from './query-runner.ts'
import { readRequest } from './request.ts'
import type { SessionResult } from './session.ts'

/** Serves the part of ClickHouse's HTTP interface that this service uses. */
export function createHostServer(runner: QueryRunner, listen: HostOptions['listen']): Server {
  const expected = 'port' in listen ? basic(listen.user, listen.password) : undefined
  const server = createServer({ maxHeaderSize: 2 ** 20, requestTimeout: 0 }, (message, response) => {
    if (expected && !equals(message.headers.authorization ?? '', expected)) {
      message.resume()
      return fail(response, exceptions.wrongPassword())
    }
    if (message.url === '/ping') return void response.end('Ok.\n')
    void answer(runner, message, response)
  })
  server.keepAliveTimeout = 60_000
  return server
}

async function answer(
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
    const result = await runner.run(request, gone.signal)
    if (gone.signal.aborted) return
    response.writeHead(200, {
      'X-ClickHouse-Query-Id': headerSafe(request.queryId),
      'X-ClickHouse-Summary': summaryOf(result),
      'Content-Length': result.bytes.length,
    })
    response.end(result.bytes)
  } catch (error) {
    if (!gone.signal.aborted) fail(response, fromNative(error))
  }
}

function summaryOf({
  readRows,
  readBytes,
  writtenRows,
  writtenBytes,
  elapsedSeconds,
}: SessionResult): string {
  const read = readRows === undefined ? '' : `"read_rows":"${readRows}","read_bytes":"${readBytes}",`
  const written = `"written_rows":"${writtenRows}","written_bytes":"${writtenBytes}"`
  return `{${read}${written},"elapsed_ns":"${Math.round(elapsedSeconds * 1e9)}"}`
}

/** Results are buffered, so an answer that began is one that succeeded. */
function fail(response: ServerResponse, error: EngineException): void {
  response.writeHead(error.engineCode === 516 ? 401 : 500, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': String(error.engineCode),
  })
  response.end(error.text)
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function equals(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

function headerSafe(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '?')
}
