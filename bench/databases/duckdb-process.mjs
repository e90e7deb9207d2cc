/**
 * DuckDB in a process of its own, as a program that uses it would have it: its memory and its threads are not the
 * service's, and the time of a question is taken here, so that nothing between the processes is in it.
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
  /** The rows as objects, as whoever asked would want them. */
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
