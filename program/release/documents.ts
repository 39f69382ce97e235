/** Writes what a release says of itself: an SBOM (CycloneDX), its provenance (in-toto, SLSA v1),
 *  and the answer of `npm audit`. `node program/release/documents.ts ARCHIVE FOLDER`: the archive
 *  of `npm pack`, and the folder that gets the files. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' })
const sha256 = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex')

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}
/** Without development packages: `--omit=dev` also omits packages that both kinds need. */
const sbom = (): string => {
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx']
  const { status, stdout, stderr } = run('npm', ...args)
  if (status !== 0) throw new Error(`npm sbom: ${stderr}`)
  const bom = JSON.parse(stdout)
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const components = (bom.components as readonly Component[]).filter(
    ({ name: component, properties = [] }) => {
      const path =
        properties.find(({ name }) => name === 'cdx:npm:package:path')?.value ??
        `node_modules/${component}`
      return packages[path]?.dev !== true
    },
  )
  const known = new Set([
    ...components.map(each => each['bom-ref']),
    bom.metadata.component['bom-ref'],
  ])
  const dependencies = (bom.dependencies as readonly { ref: string; dependsOn: string[] }[])
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(each => known.has(each)) }))
  return JSON.stringify({ ...bom, components, dependencies }, null, 2)
}

/** The inputs of the archive: the commit, the lock file, and the versions of its builders. */
const provenance = (archive: string): string => {
  const commit = run('git', 'rev-parse', 'HEAD').stdout.trim()
  const isClean = run('git', 'status', '--porcelain').stdout === ''
  const esbuild = join(ROOT, 'node_modules/esbuild/package.json')
  const dependency = (name: string, digest: object) => ({ name, digest })
  return JSON.stringify(
    {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: basename(archive), digest: { sha256: sha256(archive) } }],
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: {
        buildDefinition: {
          buildType: 'npm pack',
          externalParameters: { command: 'npm pack' },
          internalParameters: { isClean },
          resolvedDependencies: [
            dependency('source', { gitCommit: commit }),
            dependency('package-lock.json', { sha256: sha256(join(ROOT, 'package-lock.json')) }),
          ],
        },
        runDetails: {
          builder: {
            id: 'program/release/documents.ts',
            version: {
              node: process.version,
              esbuild: JSON.parse(readFileSync(esbuild, 'utf8')).version,
            },
          },
        },
      },
    },
    null,
    2,
  )
}

/** A registry that cannot be reached leaves a sentence in place of the answer. */
const audit = (): string => {
  const { stdout, stderr } = run('npm', 'audit', '--omit=dev', '--json')
  const answer = isAudit(stdout)
  if (answer) return stdout
  const reason = stderr.split('\n').find(line => line.startsWith('npm error')) ?? ''
  return JSON.stringify({
    skipped: `npm audit was not run: the registry gave no answer. ${reason}`,
  })
}
const isAudit = (text: string): boolean => {
  try {
    return 'vulnerabilities' in JSON.parse(text)
  } catch {
    return false
  }
}

const [archive = '', folder = ''] = process.argv.slice(2)
if (archive === '' || folder === '')
  throw new Error('node program/release/documents.ts ARCHIVE FOLDER')
mkdirSync(folder, { recursive: true })
const documents = {
  'sbom.json': sbom(),
  'provenance.json': provenance(archive),
  'audit.json': audit(),
}
for (const [name, text] of Object.entries(documents))
  writeFileSync(join(folder, name), `${text.trimEnd()}\n`)
console.log(`${Object.keys(documents).join(', ')} written to ${folder}`)
