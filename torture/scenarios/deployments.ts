import { setTimeout as delay } from 'node:timers/promises'
import { askEngine } from '../../test/support/ask-engine.ts'
import { openPlain } from '../faults/mounted-service.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'

/** Sources are alone in their names, so the tables of one round can be told from those of others. */
interface Round {
  source: string
  endpoint: string
  alert: string
  /** Is changed in every round. */
  counter: string
  text: string
}

export const deployments: Scenario = {
  name: 'deployments',
  title: 'a deployment is stored whole or not at all when the service is killed in the middle of it',
  async run(run) {
    const rounds = run.cycles(100, 3)
    const { target } = await run.share('disk', openPlain)
    const counts = { kills: 0, 'stored whole': 0, 'not stored': 0, acknowledged: 0 }
    const faults: string[] = []
    const roundOf = (number: number): Round => {
      const id = `${run.seed}_${number}`
      const [source, endpoint, alert] = [`torn_${id}`, `torn.${id}`, `torn-${id}`]
      return { source, endpoint, alert, counter: `torn.counter.${run.seed}`, text: `round ${number}` }
    }
    // How long one takes that nothing disturbs.
    const began = performance.now()
    const first = await deploy(target, roundOf(0))
    const takesMs = performance.now() - began
    if (first !== 200) return { counts, faults: [`the first deployment returned ${first}`] }
    for (let number = 1; number <= rounds; number++) {
      const round = roundOf(number)
      const status = deploy(target, round).catch(() => undefined)
      // A service that was just started takes longer.
      await delay(run.random() * 3 * takesMs)
      await target.kill()
      counts.kills++
      const received = await status
      target.start()
      await target.url()
      const { isStored, faults: wrong } = await inspect(target, round)
      if (received === 200) counts.acknowledged++
      if (received === 200 && !isStored) wrong.push('an acknowledged deployment is gone')
      counts[isStored ? 'stored whole' : 'not stored']++
      faults.push(...wrong.map((fault) => `round ${number}: ${fault}`))
    }
    return { counts, faults }
  },
}

async function deploy(target: Target, round: Round): Promise<number> {
  const { source, endpoint, alert, counter, text } = round
  const columns = [{ name: 'total', path: 'total', type: 'number' }]
  const { status } = await target.call('/api/deployments', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      sources: [{ name: source, columns }],
      endpoints: [
        { name: endpoint, query: `SELECT sum(total) AS total, count() AS entries FROM ${source}` },
        { name: counter, query: 'SELECT 1 AS n', description: text },
      ],
      alerts: [{ name: alert, endpoint, when: 'any(entries) > 5', enabled: false }],
    }),
  })
  return status
}

async function inspect(target: Target, { source, endpoint, alert, counter, text }: Round) {
  const faults: string[] = []
  const found: Record<string, boolean> = {}
  for (const path of [`sources/${source}`, `endpoints/${endpoint}`, `alerts/${alert}`]) {
    found[path] = (await target.call(`/api/${path}`)).status === 200
  }
  const { description } = await target.json<{ description: string }>(`/api/endpoints/${counter}`)
  found['the change'] = description === text
  const isStored = Object.values(found).some(Boolean)
  if (isStored && !Object.values(found).every(Boolean))
    faults.push(`only a part is stored: ${JSON.stringify(found)}`)
  if (isStored && (await target.call(`/api/endpoints/query/${endpoint}`)).status !== 200) {
    faults.push('the endpoint does not respond')
  }
  const names = `name = '${source}' OR name LIKE 'scratch%'`
  const sql = `SELECT name FROM system.tables WHERE database = 'wellhead' AND (${names})`
  const tables = (await askEngine(target.dataDir, sql)).split('\n').filter(Boolean)
  if (tables.join() !== (isStored ? source : '')) faults.push(`tables are left: ${tables.join()}`)
  return { isStored, faults }
}
