import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { openService as buildService } from '../../../src/app.ts'
import { commandsOf } from '../../../src/cli/program.ts'
import { OperatorError } from '../../../src/core/base/operator-error.ts'
import type { Core } from '../../../src/core.ts'
import { unstartedOptions } from '../../../src/described-server.ts'
import type { Feature, OpenFeature } from '../../../src/feature.ts'
import { features } from '../../../src/features.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService } from '../../support/service.ts'

const feature = (opened: OpenFeature | Error, name = 'weather'): Feature => ({
  name,
  async open() {
    if (opened instanceof Error) throw opened
    return opened
  },
})
const build = async (...added: Feature[]) =>
  buildService(await unstartedOptions(), 'a-secret', () => 'starting', { features: [...features, ...added] })

describe('a service is not built', () => {
  test('with two features that have the same route', async () => {
    const routes = (server: FastifyInstance) =>
      void server.get('/api/weather', { config: { access: 'any' } }, async () => 'rain')
    const added = [feature({ routes }), feature({ routes }, 'climate')]
    await expect(build(...added)).rejects.toThrow(/^climate: .*'GET'.*'\/api\/weather'/)
  })

  test('with two features that have the same kind of definitions', async () => {
    const kindOf = (core: Core) => core.definitions.kinds.filter(({ folder }) => folder === 'alerts')
    const added: Feature = { name: 'alarms', open: async (core) => ({ kinds: kindOf(core) }) }
    await expect(build(added)).rejects.toThrow(
      'alarms: There are two kinds of definitions with the name alerts.',
    )
  })

  test('with two features that have the same table', async () => {
    const tables = async () => [
      { name: '_alerts', title: '', schema: 10, create: () => [], copied: { columns: '' } },
    ]
    await expect(build({ name: 'alarms', tables })).rejects.toThrow(
      'alarms: There are two tables with the name _alerts.',
    )
  })

  test('with a feature that needs a later one', async () => {
    const early: Feature = { name: 'early', open: async (core) => core.feature(feature({}, 'late')) }
    await expect(build(early, feature({}, 'late'))).rejects.toThrow(
      'early: The feature late is not open. It must stand earlier in the list.',
    )
  })
})

test('commands of two features cannot have the same name', () => {
  const command = { name: 'alert', description: 'again', after: '', load: async () => () => {} }
  expect(() => commandsOf([...features, { name: 'alarms', commands: [command] }])).toThrow(
    'alarms: There are two commands with the name alert.',
  )
  expect(() => commandsOf([{ name: 'alarms', commands: [{ ...command, name: 'serve' }] }])).toThrow(
    'alarms: There are two commands with the name serve.',
  )
})

describe('a feature that fails', () => {
  test.each(['open', 'prepare', 'load', 'start'] as const)(
    'in %s stops the start with its name, and leaves nothing running',
    async (step) => {
      const { path, remove } = scratchDirectory()
      const stopped: string[] = []
      const failing = async (): Promise<never> => {
        throw new TypeError('no thermometer')
      }
      const earlier = feature({ stop: () => void stopped.push('earlier') }, 'earlier')
      const broken: Feature = {
        name: 'weather',
        open: step === 'open' ? failing : async () => ({ [step]: failing }),
      }
      const start = (added: Feature[]) =>
        openService({ engine: 'embedded', dataDir: path, features: [...features, ...added] })
      try {
        await expect(start([earlier, broken])).rejects.toThrow('weather: no thermometer')
        expect(stopped).toEqual(['earlier'])
        // The engine has given up its lock.
        await (await start([])).close()
      } finally {
        remove()
      }
    },
  )

  test('keeps a message for operators as it is', async () => {
    const error = new OperatorError('Set WELLHEAD_THERMOMETER.')
    await expect(build(feature(error))).rejects.toThrow(/^Set WELLHEAD_THERMOMETER\.$/)
  })
})
