/** Calls the engine's binding in this process, without a service. */
import { Session } from 'chdb'

const session = new Session(process.argv[2])

process.on('message', async ({ sql, calls }) => {
  const times = []
  for (let i = 0; i < calls; i++) {
    const since = performance.now()
    const result = await session.queryAsync(sql, { format: 'JSONEachRow' })
    result.bytes()
    times.push(performance.now() - since)
  }
  process.send(times)
})
