import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { socketPathFor } from '../../src/engine/embedded-engine.ts'

/** Runs SQL on the engine of a running service, past the service. */
export function askEngine(dataDir: string, sql: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: socketPathFor(dataDir), method: 'POST', path: '/' }, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(answer)
        else reject(new Error(`${sql}: ${answer}`))
      }, reject)
    })
    asked.on('error', reject)
    asked.end(sql)
  })
}
