import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runCommand } from '../../support/command.ts'
import { longForms } from '../../support/engines.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { featureStage, removableFeatures } from './stage.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((name) => `src/${name}`)
  .filter((name) => /(?<!\.test)\.ts$/.test(name))

test.each(removableFeatures)('nothing but the list of features imports %s', (name) => {
  const folder = `src/features/${name}/`
  const importers = sources
    .filter((file) => !file.startsWith(folder) && file !== 'src/features.ts')
    .filter((file) => {
      const imports = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\(?) ?'(\.[^']*)'/g)
      return [...imports].some(([, path]) => join(dirname(file), path as string).startsWith(folder))
    })
  expect(importers).toEqual([])
})

/** Deletes the folders of features and their lines in the list, and nothing else. */
function removeFeatures(directory: string, names: readonly string[]): void {
  const list = join(directory, 'src/features.ts')
  let text = readFileSync(list, 'utf8')
  for (const name of names) {
    rmSync(join(directory, 'src/features', name), { recursive: true })
    const line = new RegExp(`^import \\{ (\\w+) \\} from '\\./features/${name}/index\\.ts'\\n`, 'm')
    const [found, variable] = line.exec(text) as unknown as [string, string]
    text = text.replace(found, '').replace(`  ${variable},\n`, '')
  }
  writeFileSync(list, text)
}

const compiled: [what: string, names: readonly string[]][] = [
  // Because nothing imports a feature, this holds for each of them alone, too. The long form compiles each.
  ['any of them', removableFeatures],
  ...(longForms ? removableFeatures.map((name): [string, string[]] => [name, [name]]) : []),
]

test.each(compiled)('the program compiles without %s', async (_what, names) => {
  const { path, remove } = scratchDirectory()
  try {
    cpSync(join(root, 'src'), join(path, 'src'), {
      recursive: true,
      filter: (file) => !file.endsWith('.test.ts'),
    })
    for (const name of ['package.json', 'shipped', 'node_modules']) {
      symlinkSync(join(root, name), join(path, name))
    }
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
    writeFileSync(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
    removeFeatures(path, names)
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '--noEmit', '-p', path]).catch(
      ({ stdout }) => ({ stdout }),
    )
    expect(stdout).toBe('')
  } finally {
    remove()
  }
})

test('a service without a feature keeps what the feature stored, and lacks nothing else', async () => {
  const directory = scratchDirectory()
  const dataDir = join(directory.path, 'data')
  const stage = await featureStage(dataDir)
  try {
    await stage.open([])
    await stage.fill()
    await stage.service().close()
    // Each start also has what the previous one left alone.
    for (const missing of [...removableFeatures.map((name) => [name]), removableFeatures]) {
      await stage.open(missing)
      try {
        await stage.coreJourney()
        await stage.checkFeatures(missing)
      } finally {
        await stage.service().close()
      }
    }
    // A backup has the records and rows of features that the service lacks.
    await stage.open(['alerts', 'dashboards', 'tables', 'people'])
    const [backup, restored] = [join(directory.path, 'backup'), join(directory.path, 'restored')]
    const environment = {
      WELLHEAD_URL: stage.service().url,
      WELLHEAD_TOKEN: stage.service().adminToken.token,
    }
    expect(await runCommand(['backup', backup], { environment })).toMatchObject({ code: 0 })
    await stage.service().close()
    expect(await runCommand(['restore', backup, '--data-dir', restored])).toMatchObject({ code: 0 })
    for (const data of [dataDir, restored]) {
      await stage.open([], data)
      try {
        await stage.coreJourney()
        await stage.checkFeatures([])
      } finally {
        await stage.service().close()
      }
    }
  } finally {
    await stage.close()
    directory.remove()
  }
})

test('a project that is erased without the feature of tables loses its rows when the feature is back', async () => {
  const { path, remove } = scratchDirectory()
  const stage = await featureStage(path)
  const { admin, service } = stage
  try {
    await stage.open([])
    await admin('POST', '/api/tables', { name: 'plans' })
    const csv = { 'Content-Type': 'text/csv' }
    await admin('PUT', '/api/tables/plans/rows', 'project,plan\nblue,big\nred,small\n', csv)
    await service().close()
    await stage.open(['tables'])
    const { status, body } = await admin('POST', '/api/erasures', { project: 'blue' })
    expect([status, body.project]).toEqual([202, 'blue'])
    await expect
      .poll(async () => (await admin('GET', `/api/erasures/${body.id}`)).body.done_at)
      .not.toBe(null)
    await service().close()
    const rows = async () => (await admin('GET', '/api/tables/plans/rows?_format=csv')).body
    await stage.open([])
    expect(await rows()).toBe('project,plan\n"red","small"\n')
    // Once: rows that are stored again on purpose stay.
    const stored = '/api/tables/plans/rows?restore_erased=true'
    expect((await admin('PUT', stored, 'project,plan\nblue,new\n', csv)).status).toBe(200)
    await service().close()
    await stage.open([])
    expect(await rows()).toBe('project,plan\n"blue","new"\n')
    await service().close()
  } finally {
    await stage.close()
    remove()
  }
})

test('a service starts on new data without any feature that can be removed, and they work when they come', async () => {
  const { path, remove } = scratchDirectory()
  const stage = await featureStage(path)
  try {
    await stage.open(removableFeatures)
    await stage.coreJourney()
    await stage.service().close()
    await stage.open([])
    await stage.fill()
    await stage.checkFeatures([])
    await stage.service().close()
  } finally {
    await stage.close()
    remove()
  }
})
