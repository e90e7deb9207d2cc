import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { vi } from 'vitest'
import { freePort } from '../../support/network/free-port.ts'
import { scratchDirectory } from '../../support/scratch.ts'

const programs = '/usr/lib/postgresql'
const run = promisify(execFile)

/** Programs of the newest PostgreSQL; undefined if it is not installed. */
export const postgresPrograms = (existsSync(programs) ? readdirSync(programs) : [])
  .sort((one, other) => Number(other) - Number(one))
  .map((version) => join(programs, version, 'bin'))
  .find((bin) => existsSync(join(bin, 'initdb')))

/** A PostgreSQL server on a loopback port. It refuses to run as root, so root runs it as its usual user. */
export async function openPostgres(bin: string) {
  const directory = scratchDirectory()
  const port = await freePort()
  const [, , uid, gid] = /^postgres:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? []
  const isRoot = process.getuid?.() === 0
  const as: { cwd: string; uid?: number; gid?: number } = {
    cwd: '/',
    ...(isRoot && { uid: Number(uid), gid: Number(gid) }),
  }
  if (isRoot) chownSync(directory.path, Number(uid), Number(gid))
  const data = join(directory.path, 'data')
  await run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'logflare', '--auth=trust', '--no-sync', '--encoding=UTF8'],
    as,
  )
  const settings = [`port=${port}`, `unix_socket_directories=${directory.path}`, 'fsync=off', 'timezone=UTC']
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((each) => ['-c', each])], {
    ...as,
    stdio: 'ignore',
  })
  const sql = async (text: string) => {
    const choices = [
      '-h',
      '127.0.0.1',
      '-p',
      String(port),
      '-U',
      'logflare',
      '-d',
      'postgres',
      '-v',
      'ON_ERROR_STOP=1',
      '-c',
      text,
    ]
    return (await run(join(bin, 'psql'), choices)).stdout
  }
  await vi.waitFor(() => sql('SELECT 1'), { interval: 100 })
  return {
    sql,
    url: `postgres://logflare:secret@127.0.0.1:${port}/postgres`,
    close: async () => {
      const ended = once(server, 'exit')
      server.kill('SIGINT')
      await ended
      directory.remove()
    },
  }
}
