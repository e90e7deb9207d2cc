import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const modules = join(repository, 'node_modules')
const read = (path: string) => readFileSync(join(repository, path), 'utf8')

interface InstalledPackage {
  command: string
  /** The version, as a command of the checkout printed it that started together with the build. */
  printed: string
}

/**
 * Builds and packs the package from the files that the image is built from, with the commands of the Dockerfile, and
 * installs it in a directory with the packages that it names as dependencies and no others. Packages are links to those
 * of the checkout, so that no registry is needed.
 */
export async function installPackage(directory: string): Promise<InstalledPackage> {
  const context = join(directory, 'context')
  const installed = join(directory, 'node_modules/wellhead')
  for (const path of [join(directory, 'node_modules/.bin'), join(directory, 'packed')]) {
    mkdirSync(path, { recursive: true })
  }
  copyContext(context)
  symlinkSync(modules, join(context, 'node_modules'))
  const [, commands] = /^RUN (npm run build(?:.*\\\n)*.*)$/m.exec(read('deploy/Dockerfile')) as unknown as [
    string,
    string,
  ]
  const places: Record<string, string> = { '/app': installed, '/tmp': join(directory, 'packed') }
  const script = commands.replace(/\/(?:app|tmp)\b/g, (path) => places[path] as string)
  const run = promisify(execFile)
  const [printed] = await Promise.all([
    run('node', ['scripts/wellhead.mjs', '--version'], { cwd: context }),
    run('sh', ['-c', script], { cwd: context }),
  ])
  const { bin, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    bin: { wellhead: string }
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    const link = join(directory, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(modules, name), link)
  }
  const command = join(directory, 'node_modules/.bin/wellhead')
  // npm makes the file executable and the link.
  chmodSync(join(installed, bin.wellhead), 0o755)
  symlinkSync(join('../wellhead', bin.wellhead), command)
  return { command, printed: printed.stdout }
}

/** Copies what Docker gets of a fresh checkout. */
function copyContext(directory: string): void {
  const lines = read('.dockerignore').split('\n')
  const rules = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const isKept = line.startsWith('!')
      const path = isKept ? line.slice(1) : line
      const pattern = path.replaceAll('.', '\\.').replaceAll('*', '[^/]*')
      return { isKept, path, pattern: new RegExp(`^${pattern}(?:/|$)`) }
    })
  // The last rule that matches decides. A directory that is left out may contain something that is not.
  const isSent = (path: string) =>
    rules.findLast(({ pattern }) => pattern.test(path))?.isKept !== false ||
    rules.some(({ isKept, path: kept }) => isKept && kept.startsWith(`${path}/`))
  cpSync(repository, directory, {
    recursive: true,
    filter: (source) => source === repository || isSent(relative(repository, source)),
  })
  // It is generated.
  rmSync(join(directory, 'console/src/api/schema.d.ts'), { force: true })
}
