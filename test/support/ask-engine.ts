import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyHeader, runtimeDirectoryOf } from '../../src/core/engine/embedded/server-config.ts'

/** Runs SQL on the engine of a running service, past the service. */
export async function askEngine(dataDir: string, sql: string): Promise<string> {
  const read = (name: string) => readFileSync(join(runtimeDirectoryOf(dataDir), name), 'utf8')
  const key = new RegExp(`<${keyHeader}>(.*?)</`).exec(read('config.xml'))?.[1] ?? ''
  const password = /<wellhead><password>(.*?)<\//.exec(read('users.xml'))?.[1] ?? ''
  const login = Buffer.from(`wellhead:${password}`).toString('base64')
  const response = await fetch(`http://127.0.0.1:${read('port').trim()}/?database=wellhead`, {
    method: 'POST',
    headers: { [keyHeader]: key, Authorization: `Basic ${login}` },
    body: sql,
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${sql}: ${text}`)
  return text
}
