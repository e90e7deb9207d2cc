/** A temporary PostgreSQL cluster that listens only on a socket in its directory. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { atTheEnd } from '../support/at-the-end.mjs'

const debianDirectory = '/usr/lib/postgresql'
const user = 'bench'

export const howToInstall =
  `PostgreSQL was skipped: no server found in ${debianDirectory}. ` +
  'Install it with: apt-get install postgresql'

/** Program directory of the newest server, as packaged by Debian. */
export function findPostgres() {
  if (!existsSync(debianDirectory)) return undefined
  return readdirSync(debianDirectory)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(debianDirectory, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')) && existsSync(join(bin, 'initdb')))
}

/** PostgreSQL refuses to run as root, so root starts it as another user. */
function lentUser() {
  if (process.getuid() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
  const line = /^postgres:.*$/m.exec(users) ?? /^nobody:.*$/m.exec(users)
  if (!line) throw new Error('PostgreSQL cannot run as root. Create a user postgres or nobody.')
  const [, , uid, gid] = line[0].split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

/** Reasonable settings. Durability is off, because only reads are measured. */
function serverSettings(directory) {
  const megabytes = Math.floor(totalmem() / 2 ** 20)
  const settings = {
    listen_addresses: '',
    unix_socket_directories: directory,
    shared_buffers: `${Math.floor(megabytes / 4)}MB`,
    effective_cache_size: `${Math.floor(megabytes / 2)}MB`,
    work_mem: '64MB',
    max_wal_size: '8GB',
    fsync: 'off',
    full_page_writes: 'off',
    timezone: 'UTC',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

export async function openPostgres(bin) {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-bench-pg-'))
  const as = { ...lentUser(), cwd: directory }
  if (as.uid !== undefined) chownSync(directory, as.uid, as.gid)
  let server
  let session
  const remove = atTheEnd(() => {
    if (runs(server)) server.kill('SIGQUIT')
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  const close = async () => {
    await session?.end()
    if (runs(server)) {
      const ended = once(server, 'exit')
      server.kill('SIGINT')
      await ended
    }
    remove()
  }
  try {
    const data = join(directory, 'data')
    // Orders text by bytes, like the engine.
    const choices = ['-D', data, '-U', user, '--auth=trust', '--locale=C', '--encoding=UTF8', '--no-sync']
    await promisify(execFile)(join(bin, 'initdb'), choices, as)
    server = spawn(join(bin, 'postgres'), ['-D', data, ...serverSettings(directory)], {
      ...as,
      stdio: 'ignore',
    })
    await ready(bin, directory, server)
    session = openSession(bin, directory)
    return { query: session.query, copyInto: (into) => openCopy(bin, directory, into), close }
  } catch (error) {
    await close()
    throw error
  }
}

function runs(server) {
  return server !== undefined && server.exitCode === null && server.signalCode === null
}

async function ready(bin, directory, server) {
  for (;;) {
    try {
      await promisify(execFile)(join(bin, 'pg_isready'), ['-h', directory, '-U', user])
      return
    } catch {
      if (!runs(server)) throw new Error(`PostgreSQL did not start (code ${server.exitCode}).`)
      await delay(100)
    }
  }
}

function psql(bin, directory, args) {
  const choices = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-h', directory, '-U', user]
  const child = spawn(join(bin, 'psql'), [...choices, '-d', 'postgres', ...args])
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint += text
  })
  // If psql has ended, its exit code reports the failure.
  child.stdin.on('error', () => {})
  const ended = new Promise((resolve) => child.once('close', resolve))
  return { child, ended, complaint: () => complaint }
}

/** One persistent psql. A marker after each query shows that its output is complete. */
function openSession(bin, directory) {
  const { child, ended, complaint } = psql(bin, directory, [])
  let asked = 0
  const query = (sql) =>
    new Promise((resolve, reject) => {
      const mark = `-- end of ${++asked} --\n`
      const chunks = []
      let tail = ''
      const settle = (finish) => {
        child.stdout.off('data', onData)
        child.off('close', onClose)
        finish()
      }
      const onData = (chunk) => {
        chunks.push(chunk)
        tail = (tail + chunk.toString('latin1')).slice(-mark.length)
        if (tail !== mark) return
        settle(() => resolve(Buffer.concat(chunks).subarray(0, -mark.length).toString()))
      }
      const onClose = () => settle(() => reject(new Error(`psql ended: ${complaint()}`)))
      child.stdout.on('data', onData)
      child.once('close', onClose)
      child.stdin.write(`${sql};\n\\echo ${mark}`)
    })
  const end = () => {
    child.stdin.end()
    return ended
  }
  return { query, end }
}

/** Rows in the text format of COPY. */
function openCopy(bin, directory, into) {
  const { child, ended, complaint } = psql(bin, directory, ['-c', `COPY ${into} FROM STDIN`])
  return {
    write: async (rows) => {
      const text = rows.map((row) => `${row.map(copyText).join('\t')}\n`).join('')
      if (!child.stdin.write(text)) await Promise.race([once(child.stdin, 'drain'), ended])
    },
    end: async () => {
      child.stdin.end()
      if ((await ended) !== 0) throw new Error(`COPY failed: ${complaint()}`)
    },
  }
}

const escapes = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function copyText(value) {
  return value.replace(/[\\\t\n\r]/g, (character) => escapes[character])
}
