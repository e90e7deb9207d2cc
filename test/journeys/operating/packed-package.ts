import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Packs the package as it would be published and installs it in a directory, with the packages that it names as
 * dependencies and no others. They are links to those of the checkout, so that no registry is needed. Returns the
 * command.
 */
export function installPackage(directory: string): string {
  const modules = join(directory, 'node_modules')
  const installed = join(modules, 'wellhead')
  mkdirSync(installed, { recursive: true })
  const packed = execFileSync(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--silent', '--pack-destination', directory],
    { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  execFileSync('tar', ['-xzf', join(directory, filename), '-C', installed, '--strip-components=1'])
  const { bin, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    bin: { wellhead: string }
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(repository, 'node_modules', name), join(modules, name))
  }
  mkdirSync(join(modules, '.bin'))
  const command = join(modules, '.bin', 'wellhead')
  // npm makes the file executable and the link.
  chmodSync(join(installed, bin.wellhead), 0o755)
  symlinkSync(join('..', 'wellhead', bin.wellhead), command)
  return command
}
