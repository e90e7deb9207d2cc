import { appendFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { scenarios } from '../scenarios.ts'
import { runScenario, type TortureOptions } from './run-scenario.ts'
import { SharedResources } from './shared-resources.ts'

/** The command line of `npm run torture`. */
interface Order extends Pick<TortureOptions, 'seed' | 'minutes' | 'cycles' | 'match'> {
  names: string[]
  /** File that gets one line of JSON per scenario. */
  results: string
  list: boolean
}

const order = JSON.parse(process.env.TORTURE_ORDER ?? '{}') as Order
const known = scenarios.map(({ name }) => name)
const unknown = order.names.filter((name) => !known.includes(name))
const chosen = scenarios.filter(({ name }) => order.names.length === 0 || order.names.includes(name))
const print = (line: string) => process.stdout.write(`${line}\n`)

if (unknown.length > 0 || order.list) {
  test('lists the scenarios', () => {
    for (const name of unknown) print(`Unknown scenario "${name}". Choose one of:`)
    for (const { name, title } of scenarios) print(`${name.padEnd(14)}${title}`)
    expect(unknown).toEqual([])
  })
} else {
  for (const scenario of chosen) {
    test(scenario.name, async () => {
      const shared = new SharedResources()
      const { seed, minutes, cycles, match } = order
      const command = [`npm run torture -- ${scenario.name} --seed ${seed} --minutes ${minutes}`]
      if (cycles !== undefined) command.push(`--cycles ${cycles}`)
      if (match !== undefined) command.push(`--match '${match}'`)
      try {
        const result = await runScenario(scenario, {
          form: 'long',
          seed,
          minutes,
          cycles,
          match,
          command: command.join(' '),
          shared,
          say: print,
        })
        appendFileSync(order.results, `${JSON.stringify(result)}\n`)
      } finally {
        await shared.close()
      }
    })
  }
}
