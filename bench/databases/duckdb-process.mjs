/**
 * DuckDB in a separate process, so that it does not share memory and threads with the service. Times are measured here, so
 * that they do not include the communication between the processes.
 */
import { DuckDBInstance } from '@duckdb/node-api'

let connection

const answers = {
  open: async ({ file }) => {
    const instance = await DuckDBInstance.create(file)
    connection = await instance.connect()
    await connection.run("SET TimeZone = 'UTC'")
    return {}
  },
  run: async ({ sql }) => {
    await connection.run(sql)
    return {}
  },
  /** Includes converting the rows to objects. */
  time: async ({ sql, calls }) => {
    const times = []
    for (let i = 0; i < calls; i++) {
      const since = performance.now()
      const reader = await connection.runAndReadAll(sql)
      reader.getRowObjectsJson()
      times.push(performance.now() - since)
    }
    return { times }
  },
  read: async ({ sql }) => ({ text: String((await connection.runAndReadAll(sql)).getRows()[0][0]) }),
}

process.on('message', async ({ type, ...options }) => {
  process.send(await answers[type](options))
})
