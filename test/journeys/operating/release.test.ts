import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { dated, notesOf } from '../../../scripts/support/changelog.mjs'
import { scratchDirectory } from '../../support/scratch.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const changelog = '# Changelog\n\n## Unreleased\n\n- New\n\n## 0.1.0 (2026-01-31)\n\nThe first.\n'

describe('the changelog', () => {
  test('gives each version its notes, and the next one its date', () => {
    expect(notesOf(changelog, '0.2.0')).toBe('- New\n')
    expect(notesOf(changelog.replace('## Unreleased\n\n- New\n\n', ''), '0.1.0')).toBe('The first.\n')
    expect(dated(changelog, '0.2.0', new Date('2026-02-28T12:00:00Z'))).toBe(
      changelog.replace('## Unreleased', '## 0.2.0 (2026-02-28)'),
    )
  })

  test('must say something about a version', () => {
    expect(() => notesOf('# Changelog\n', '0.2.0')).toThrow('neither "## Unreleased" nor "## 0.2.0"')
    expect(() => notesOf('## Unreleased\n\n## 0.1.0\n\nThe first.\n', '0.2.0')).toThrow('says nothing')
  })
})

describe('npm run release', () => {
  const { path, remove } = scratchDirectory()
  afterAll(remove)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: path })
  const release = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/release.mjs', ...args], { cwd: path, encoding: 'utf8' })

  test('refuses a tree with changes, a version that is released, and one that is none', () => {
    mkdirSync(path, { recursive: true })
    cpSync(join(repository, 'scripts'), join(path, 'scripts'), { recursive: true })
    writeFileSync(join(path, 'package.json'), '{"version":"0.1.0"}')
    writeFileSync(join(path, 'CHANGELOG.md'), changelog)
    git('init', '-q')
    git('add', '.')
    git('commit', '-qm', 'Begin')
    git('tag', 'v0.1.0')
    const before = readFileSync(join(path, 'CHANGELOG.md'), 'utf8')

    const released = release()
    expect([released.status, released.stdout]).toEqual([1, expect.stringContaining('✘ version')])
    expect(released.stdout).toContain('v0.1.0 is released already. Name the next version')
    expect(release('--check', '1.x').stdout).toContain('"1.x" is not a version such as 0.2.0.')

    writeFileSync(join(path, 'left.txt'), '')
    const dirty = release('0.2.0')
    expect([dirty.status, dirty.stdout]).toEqual([1, expect.stringContaining('✘ clean tree')])
    expect(dirty.stdout).toContain('?? left.txt')
    expect(readFileSync(join(path, 'CHANGELOG.md'), 'utf8')).toBe(before)
    expect(String(git('tag', '--list'))).toBe('v0.1.0\n')
  })
})
