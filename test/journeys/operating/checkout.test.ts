import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask } from '../../support/callers.ts'
import { startCommand } from '../../support/command.ts'
import { freePort } from '../../support/network/free-port.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { childrenOf, isAlive, type ServiceProcess, spawnService } from '../../support/service-process.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const start = ['npm', 'start', '--']
const wellhead = ['npm', 'run', '--silent', '--prefix', repository, 'wellhead', '--']
/** A checkout finds or prepares its engine itself. */
const { HOME = '', XDG_CACHE_HOME = '' } = process.env
const environment = { HOME, XDG_CACHE_HOME, WELLHEAD_ENGINE_NODE: '', WELLHEAD_ENGINE_PATIENCE: '' }

/** The user's directory, beside the data directory of the service. */
const directory = scratchDirectory()
const data = join(directory.path, 'data')
let port: number
let service: ServiceProcess
let url: string

beforeAll(async () => {
  port = await freePort()
})
afterEach(() => {
  try {
    process.kill(-(service.child.pid as number), 'SIGKILL')
  } catch {
    // Everything has ended by itself.
  }
})
afterAll(() => directory.remove())

async function serve(command: string[], args: string[], cwd: string): Promise<void> {
  service = spawnService(['--port', String(port), ...args], environment, { command, cwd, detached: true })
  url = await service.ready()
}

const token = () => readFileSync(join(data, 'admin-token'), 'utf8').trim()
const store = async (id: string) => {
  const sent = await ask({ url }, token(), 'POST', '/api/logs?source=edge_logs', { id, project: 'kept' })
  expect(sent.body).toMatchObject({ accepted: 1 })
}
const stored = async () => {
  const { body } = await ask({ url }, token(), 'GET', '/api/endpoints/query/logs.all?project=kept')
  return body.result.map(({ id }: { id: string }) => id).toSorted()
}

/** Sends a signal to npm or, as Ctrl-C does, to it and all that it started. */
async function stop(signal: NodeJS.Signals, receiver: 'npm' | 'group'): Promise<void> {
  const { pid: npm } = service.child as { pid: number }
  const { pid } = JSON.parse(readFileSync(join(data, 'service.json'), 'utf8')) as { pid: number }
  const started = [pid, ...childrenOf(pid)]
  expect(started.length).toBe(2)
  const ended = once(service.child, 'exit')
  process.kill(receiver === 'npm' ? npm : -npm, signal)
  expect(await ended).toEqual([0, null])
  expect(started.filter(isAlive)).toEqual([])
  expect(existsSync(join(data, 'service.json'))).toBe(false)
}

// Each starts on the port and the data directory of the one before.
describe('npm start', () => {
  test('with the demo stops the service and its engine on SIGTERM', async () => {
    await serve(start, ['--demo', '--data-dir', data], repository)
    await store('first')
    await stop('SIGTERM', 'npm')
  })

  test('stops them on Ctrl-C, which reaches the service a second time through npm', async () => {
    await serve(start, ['--data-dir', data], repository)
    await store('second')
    await stop('SIGINT', 'group')
  })
})

test('npm run wellhead runs commands in the current directory, with their input, output, signals and exit codes', async () => {
  const run = (args: string[], input?: string) =>
    startCommand(args, { command: wellhead, cwd: directory.path, environment, ...(input && { input }) })
  await serve([...wellhead, 'serve'], [], directory.path)
  expect(await stored()).toEqual(['first', 'second'])

  mkdirSync(join(directory.path, 'logs'))
  writeFileSync(join(directory.path, 'logs/own.ndjson'), '{"project":"own"}\n')
  const sent = await run(['logs', 'send', '--source', 'edge_logs', 'logs/own.ndjson']).result
  expect(sent).toMatchObject({ code: 0, stdout: '' })
  const sql = "SELECT 'it''s' AS said, count() AS n\nFROM edge_logs WHERE project = 'own'"
  const read = await run(['sql', '--format', 'csv', '-'], sql).result
  expect(read).toMatchObject({ code: 0, stdout: '"said","n"\n"it\'s",1\n' })
  expect(await run(['no-such-command']).result).toMatchObject({ code: 2, stdout: '' })

  const tail = run(['logs', 'tail', 'edge_logs', '-n', '1', '--project', 'own'])
  let output = ''
  tail.child.stdout?.on('data', (chunk) => (output += chunk))
  await vi.waitFor(() => expect(output).toContain('\n'))
  tail.child.kill('SIGINT')
  expect(await tail.result).toMatchObject({ code: 0, signal: null })
  await stop('SIGINT', 'npm')
})
