import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildImage, imageBuilder } from '../../../scripts/image.mjs'
import { ask } from '../../support/callers.ts'
import { freePort } from '../../support/network/free-port.ts'

const builder: { command?: string; why?: string } = imageBuilder()
const canRun = builder.command !== undefined && spawnSync('podman', ['--version']).status === 0
if (!canRun) console.log(`The image is not tested: ${builder.why ?? 'only podman can run it'}.`)

const name = `wellhead-test-${process.pid}`
/** One that is built already, as by a release. */
const { WELLHEAD_TEST_IMAGE: built } = process.env
const image = built ?? `localhost/${name}`
/** crun refuses the control groups of some virtual machines. */
const runtime = spawnSync('runc', ['--version']).status === 0 ? ['--runtime', 'runc'] : []
const podman = async (...args: string[]) =>
  (await promisify(execFile)('podman', [...runtime, ...args], { maxBuffer: 2 ** 26 })).stdout.trim()

describe.runIf(canRun)('the image', { timeout: 1_800_000 }, () => {
  let url: string
  let token: string

  beforeAll(async () => {
    if (!built) await buildImage({ name: image })
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const [, files] = (await promisify(execFile)('sh', ['-c', 'ulimit -Hn; ulimit -Hn'])).stdout.split('\n')
    const rights = [
      '--read-only',
      '--cap-drop',
      'ALL',
      '--security-opt',
      'no-new-privileges',
      '--tmpfs',
      '/tmp',
    ]
    const limits = [
      '--ulimit',
      `nofile=${files}:${files}`,
      '--ulimit',
      'nproc=4096:4096',
      '--stop-timeout',
      '45',
    ]
    const address = ['--network', 'host', '-e', 'WELLHEAD_HOST=127.0.0.1', '-e', `WELLHEAD_PORT=${port}`]
    await podman('create', '--name', name, ...rights, ...limits, ...address, '-v', `${name}:/data`, image)
  }, 1_800_000)
  afterAll(async () => {
    await podman('rm', '-f', '-v', name).catch(() => {})
    await podman('volume', 'rm', '-f', name).catch(() => {})
    if (!built) await podman('rmi', '-f', image).catch(() => {})
  })

  const start = async () => {
    await podman('start', name)
    const ready = () =>
      fetch(`${url}/ready`)
        .then(({ status }) => status)
        .catch(() => podman('logs', name))
    await expect.poll(ready).toBe(200)
    token = await podman('exec', name, 'cat', '/data/wellhead/admin-token')
  }
  const stored = async () => {
    const { body } = await ask({ url }, token, 'GET', '/api/endpoints/query/logs.all?project=kept')
    return body.result.map(({ id }: { id: string }) => id).toSorted()
  }
  const store = async (id: string) => {
    const { body } = await ask({ url }, token, 'POST', '/api/logs?source=edge_logs', { id, project: 'kept' })
    expect(body).toMatchObject({ accepted: 1 })
  }
  const exit = async () => podman('inspect', '--format', '{{.State.ExitCode}}', name)

  test('serves as an ordinary user on a read-only system, and stops on SIGTERM', async () => {
    await start()
    expect(await podman('exec', name, 'id', '-u')).toBe('1000')
    await expect(podman('exec', name, 'touch', '/app/x')).rejects.toThrow('Read-only file system')
    expect(await podman('exec', name, 'wellhead', '--version')).toMatch(/^\d+\.\d+\.\d+$/)
    await store('first')
    await podman('stop', name)
    expect(await exit()).toBe('0')
  })

  test('has its data after a stop, and after SIGKILL', async () => {
    await start()
    expect(await stored()).toEqual(['first'])
    await store('second')
    await podman('kill', '--signal', 'KILL', name)
    await podman('wait', name)
    await start()
    expect(await stored()).toEqual(['first', 'second'])
  })

  test('has nothing that gains rights, no package manager, and no sources', async () => {
    expect(
      await podman(
        'exec',
        '--user',
        '0',
        '--workdir',
        '/',
        name,
        'find',
        '/',
        '-xdev',
        '-perm',
        '/6000',
        '-type',
        'f',
      ),
    ).toBe('')
    await expect(podman('exec', name, 'npm', '--version')).rejects.toThrow()
    expect(await podman('exec', name, 'ls', '/app')).not.toMatch(/^(?:src|test|console)$/m)
  })
})
