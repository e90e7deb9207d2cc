import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { deployUntilStopped, descriptions } from './support/crash-deployer.ts'
import { type SentBatch, sendUntilStopped } from './support/crash-sender.ts'
import { embeddedEngine, many } from './support/engines.ts'
import { randomFrom } from './support/random.ts'
import { scratchDirectory } from './support/scratch.ts'
import { childrenOf, type ServiceProcess, spawnService } from './support/service-process.ts'

const token = 'a-token-for-the-crash-journey'

/** `npm run torture` asks for many more, and can ask for the moments of an earlier run. */
const cycles = Number(process.env.TORTURE_CYCLES ?? many(6, 2))
const seed = Number(process.env.TORTURE_SEED ?? randomInt(2 ** 31))

/** A kill comes after up to so many more batches were sent or acknowledged: so many senders are in every state then. */
const maxEvents = many(60, 12)
const perCycleMs = many(10_000, 120_000)

test('nothing acknowledged is lost and nothing is doubled when everything is killed at random moments', {
  timeout: 200_000 + cycles * perCycleMs,
}, async () => {
  console.log(`crash journey: ${cycles} kills, seed ${seed}`)
  const random = randomFrom(seed)
  const directory = scratchDirectory()
  const args = ['--port', '0', '--data-dir', directory.path]
  const start = () => spawnService(args, { WELLHEAD_ADMIN_TOKEN: token, WELLHEAD_LOG_LEVEL: 'silent' })
  const batches: SentBatch[] = []
  /** Sent without a key and not yet answered when the engine was killed under a service that lived on. */
  const caught = new Set<SentBatch>()
  const acknowledged = () => batches.filter(({ state }) => state === 'acknowledged')
  let service: ServiceProcess = start()
  let stop = false
  try {
    let url = service.ready()
    const senders = Array.from({ length: 8 }, (_, i) =>
      sendUntilStopped({
        name: `s${i}`,
        keyed: i % 2 === 0,
        token,
        url: () => url,
        stopped: () => stop,
        batches,
      }),
    )
    const deployer = deployUntilStopped({ token, url: () => url, stopped: () => stop })
    const goneOn = async (events: () => number, by: number) => {
      const before = events()
      await expect.poll(events, { timeout: perCycleMs, interval: 1 }).toBeGreaterThanOrEqual(before + by)
    }
    const acknowledgements = () => acknowledged().length
    for (let cycle = 0; cycle < cycles; cycle++) {
      await url
      await goneOn(acknowledgements, 1)
      await goneOn(() => batches.length + acknowledgements(), Math.floor(random() * maxEvents))
      if (cycle % 2 === 0) {
        const onTheirWay = batches.filter(({ state, keyed }) => state === 'on its way' && !keyed)
        process.kill(childrenOf(service.child.pid as number)[0] as number, 'SIGKILL')
        // Some of the kills after this one come while the service still makes up for it, and some do not.
        if (cycle > 0 && random() < 0.5) continue
        for (const batch of onTheirWay) caught.add(batch)
        await expect
          .poll(() => onTheirWay.filter(({ state }) => state === 'on its way'), { timeout: perCycleMs })
          .toEqual([])
      } else {
        service.child.kill('SIGKILL')
        await service.exit
        service = start()
        url = service.ready()
      }
    }
    await url
    await goneOn(acknowledgements, 1)
    stop = true
    await Promise.all(senders)
    const { looks, acknowledged: deployed } = await deployer
    looks.push(await descriptions({ token, url: () => url }))
    // All or none, at every look: never two marks at once, nor some of the endpoints.
    expect(
      looks.filter((look) => new Set(look).size > 1 || (look.length !== 0 && look.length !== 3)),
    ).toEqual([])
    expect(Number(looks.at(-1)?.[0] ?? 0)).toBeGreaterThanOrEqual(deployed)
    console.log(`${deployed} deployments, seen ${looks.length} times`)
  } finally {
    stop = true
    service.child.kill('SIGKILL')
    await service.exit
  }
  const stored = await storedIds(directory.path)
  directory.remove()
  const lost = acknowledged().flatMap(({ ids }) => ids.filter((id) => !stored.has(id)))
  const doubled = [...stored].filter(([, count]) => count !== '1')
  expect({ seed, lost, doubled }).toEqual({ seed, lost: [], doubled: [] })
  // What the engine dropped, the service inserts again under the same token, and nobody hears of it.
  expect(caught.size).toBeGreaterThan(0)
  expect([...caught].filter(({ state }) => state !== 'acknowledged')).toEqual([])
  const figures = [batches.length, acknowledged().length, caught.size]
  console.log(`%d batches, %d acknowledged, %d of them over the end of an engine`, ...figures)
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
