import { natively } from '../../test/support/engines.ts'
import { adminToken } from '../support/target.ts'
import type { Attack } from './attacks.ts'
import { Wire } from './wire.ts'

const name = 'torture.large'

/** Each requests a different result of several MiB and never reads it. */
export const slowReaders: Attack = async ({ run, port }) => {
  const made = await post(port, '/api/endpoints', {
    name,
    query: 'SELECT repeat(@text, 4000) AS text, number FROM numbers(1000)',
    parameters: { text: { required: true } },
  })
  if (![201, 409].includes(made)) return { count: 0, faults: [`Saving the endpoint returned ${made}`] }
  const count = run.size(natively(200, 100), 4)
  const wires: Wire[] = []
  for (let index = 0; index < count; index++) {
    const wire = await Wire.open(port)
    wires.push(wire)
    wire.socket.pause()
    wire.write(
      `GET /api/endpoints/query/${name}?text=${1000 + index} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${adminToken}\r\n\r\n`,
    )
  }
  await new Promise((resolve) => setTimeout(resolve, run.size(60_000, 3_000)))
  for (const wire of wires) wire.close()
  return { count, faults: [] }
}

async function post(port: number, path: string, body: unknown): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'X-API-KEY': adminToken, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  await response.body?.cancel()
  return response.status
}
