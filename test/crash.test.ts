import { expect, test } from 'vitest'
import { embeddedEngine, many } from './support/engines.ts'
import { scratchDirectory } from './support/scratch.ts'
import { childrenOf, type ServiceProcess, spawnService } from './support/service-process.ts'

const token = 'a-token-for-the-crash-journey'

/** `npm run torture` asks for many more. */
const cycles = Number(process.env.TORTURE_CYCLES ?? many(6, 2))

/** Sends batches one after the other, each with a key of its own, until it is told to stop. */
async function sender(
  name: string,
  url: () => Promise<string>,
  stopped: () => boolean,
  acknowledged: string[],
) {
  for (let batch = 0; !stopped(); batch++) {
    const ids = Array.from({ length: 1 + (batch % 5) }, (_, i) => `${name}-${batch}-${i}`)
    const body = JSON.stringify(ids.map((id) => ({ id, project: 'crash', metadata: { batch } })))
    const headers = { 'X-API-KEY': token, 'Idempotency-Key': `${name}-${batch}` }
    // As shippers do: the same batch with the same key until somebody says that it is stored.
    for (;;) {
      const base = await url()
      const response = await fetch(`${base}/api/logs?source=edge_logs`, {
        method: 'POST',
        body,
        headers,
      }).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response?.status === 200 && text?.includes('"rejected":0')) break
      if (stopped()) return
    }
    acknowledged.push(...ids)
  }
}

test('nothing acknowledged is lost and nothing is doubled when everything is killed at random moments', {
  timeout: 400_000,
}, async () => {
  const directory = scratchDirectory()
  const args = ['--port', '0', '--data-dir', directory.path]
  const start = () => spawnService(args, { WELLHEAD_ADMIN_TOKEN: token, WELLHEAD_LOG_LEVEL: 'silent' })
  let service: ServiceProcess = start()
  let stop = false
  const acknowledged: string[] = []
  try {
    let url = service.ready()
    const senders = Array.from({ length: 8 }, (_, i) =>
      sender(
        `s${i}`,
        () => url,
        () => stop,
        acknowledged,
      ),
    )
    const grown = async (by: number) => {
      const from = acknowledged.length
      const most = { timeout: 180_000, interval: 5 }
      await expect.poll(() => acknowledged.length, most).toBeGreaterThan(from + by)
    }
    for (let cycle = 0; cycle < cycles; cycle++) {
      await url
      await grown(5 + ((cycle * 37) % many(50, 10)))
      if (cycle % 2 === 0) process.kill(childrenOf(service.child.pid as number)[0] as number, 'SIGKILL')
      else {
        service.child.kill('SIGKILL')
        await service.exit
        service = start()
        url = service.ready()
      }
    }
    await url
    await grown(5)
    stop = true
    await Promise.all(senders)
  } finally {
    stop = true
    service.child.kill('SIGKILL')
    await service.exit
  }
  const stored = await storedIds(directory.path)
  directory.remove()
  expect(acknowledged.length).toBeGreaterThan(20)
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
  expect([...stored].filter(([, count]) => count !== '1')).toEqual([])
})

/** What an engine finds in the directory that everything else has left. */
async function storedIds(dataDir: string): Promise<Map<string, string>> {
  const engine = embeddedEngine(dataDir)
  await engine.start()
  try {
    const { body } = await engine.query(
      {
        sql: "SELECT id, count() FROM edge_logs WHERE project = 'crash' GROUP BY id",
        format: 'TabSeparatedRaw',
      },
      { deadlineMs: 60_000 },
    )
    return new Map(
      body
        .toString()
        .trim()
        .split('\n')
        .map((line) => line.split('\t') as [string, string]),
    )
  } finally {
    await engine.close()
  }
}
