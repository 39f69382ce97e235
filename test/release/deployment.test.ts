/** deploy/: its commands run outside of containers, and its files name commands, files and metrics
 *  that exist. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { blocksOf } from '../docs/blocks.ts'
import { freePort } from '../helpers/free-port.ts'
import { DEPLOY, renderChart, textOf } from './deployment-files.ts'
import { installPackage, manifest, ROOT } from './installed-package.ts'

/** The account of the image; other users than root stay themselves. */
const USER = 1000
const IS_ROOT = process.getuid?.() === 0
const asUser = (command: string): string =>
  IS_ROOT
    ? `exec setpriv --reuid ${USER} --regid ${USER} --clear-groups ${command}`
    : `exec ${command}`

/** The instructions of the last stage of the Dockerfile. */
const image = () => {
  const [stage = ''] = textOf('Dockerfile')
    .split(/^FROM /m)
    .slice(-1)
  const lines = stage.replaceAll('\\\n', ' ').split('\n')
  const argumentsOf = (name: string) =>
    lines.find(line => line.startsWith(`${name} `))?.slice(name.length + 1) ?? ''
  const list = (value: string) =>
    (JSON.parse(/\[.*\]/.exec(value)?.[0] ?? '[]') as string[]).join(' ')
  const variables = argumentsOf('ENV').trim().split(/\s+/)
  return {
    user: argumentsOf('USER'),
    start: `${list(argumentsOf('ENTRYPOINT'))} ${list(argumentsOf('CMD'))}`,
    health: list(argumentsOf('HEALTHCHECK')),
    env: Object.fromEntries(variables.map(each => each.split('=') as [string, string])),
  }
}

/** A mounted ConfigMap: files are links through `..data`, which is replaced as a whole. */
const writeConfigMap = (folder: string, version: string, routes: string): void => {
  mkdirSync(join(folder, `..${version}`))
  writeFileSync(join(folder, `..${version}`, 'routes.yaml'), routes)
  symlinkSync(`..${version}`, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  if (version === 'v1') symlinkSync('..data/routes.yaml', join(folder, 'routes.yaml'))
}

t.test('image: start and health check, read-only, without root; a ConfigMap reloads', async t => {
  const { user, start, health, env } = image()
  t.equal(user, `${USER}:${USER}`)
  const [port, admin] = [`${await freePort()}`, `${await freePort()}`]
  const own = { PORT: port, ADMIN_PORT: admin, WORKERS: '1', HOST: '127.0.0.1' }
  const paths = { TOLLGATE_CONFIG: 'etc/routes.yaml', TOLLGATE_DATA: 'state', TMPDIR: 'tmp' }
  t.same(
    Object.keys(env).sort(),
    [...Object.keys({ ...own, ...paths })]
      .filter(name => !['WORKERS', 'TMPDIR'].includes(name))
      .sort(),
  )
  const { folder, run, start: startGateway } = installPackage(t, { ...own, ...paths })
  for (const name of ['etc', 'state', 'tmp']) mkdirSync(join(folder, name), { recursive: true })
  if (IS_ROOT) for (const name of ['state', 'tmp']) chownSync(join(folder, name), USER, USER)
  writeConfigMap(join(folder, 'etc'), 'v1', textOf('routes.yaml'))
  copyFileSync(join(ROOT, 'test/fixtures/receive-datagram.py'), join(folder, 'receive.py'))
  chmodSync(join(folder, 'etc'), 0o555)
  chmodSync(folder, 0o555)
  t.not(run(asUser('touch x')).status, 0, 'the root is read-only')
  const ready =
    hasProgram('systemd-notify') && startGateway('exec python3 receive.py tmp/notify', /READY=1/)
  const gateway = await startGateway(
    `export NOTIFY_SOCKET=$PWD/tmp/notify; ${asUser(start)}`,
    /System token/,
  )
  t.equal((await fetch(`http://127.0.0.1:${port}/v1/models`)).status, 401)
  t.match(run(asUser(health)), { status: 0, text: /serves #1/ })
  if (ready) t.match((await ready).text(), /MAINPID=\d+[\s\S]*READY=1/)

  chmodSync(join(folder, 'etc'), 0o755)
  writeConfigMap(
    join(folder, 'etc'),
    'v2',
    textOf('routes.yaml').replace('name: chat', 'name: talk'),
  )
  await gateway.until(/reload #2/)
  const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
  t.match(metrics, /tollgate_config_version 2/)
})

const hasProgram = (name: string): boolean => spawnSync('which', [name]).status === 0

t.test('image: the health check fails where no gateway runs', async t => {
  const { run } = installPackage(t, { TOLLGATE_DATA: 'data' })
  t.match(run(image().health), { status: 3 })
})

t.test('dashboard: its queries name documented metrics, and their labels', async t => {
  const rows = [
    ...readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8').matchAll(
      /^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm,
    ),
  ]
  const labels = new Map(
    rows.flatMap(([, name, kind, names = '']) => {
      const own = [...names.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '')
      return (
        kind === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [`${name}`]
      ).map(each => [each, [...own, 'le', 'instance']] as const)
    }),
  )
  const { panels } = JSON.parse(textOf('grafana/tollgate.json')) as {
    panels: readonly { targets: readonly { expr: string }[] }[]
  }
  t.ok(panels.length > 10)
  for (const { expr } of panels.flatMap(({ targets }) => targets))
    t.equal(faultOf(expr, labels), undefined, expr)
  t.match(faultOf('sum(tollgate_wrong_total)', labels), 'wrong_total')
  t.match(faultOf('sum by (model) (tollgate_workers)', labels), 'model')
})
/** The first name in a query that no metric has. */
const faultOf = (expr: string, labels: ReadonlyMap<string, readonly string[]>) => {
  for (const [, name = ''] of expr.matchAll(/tollgate_(\w+)/g)) {
    const known = labels.get(name)
    if (!known) return name
    const by = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(/, ?/) ?? []
    const selected = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => label ?? '')
    const wrong = [...by, ...selected].find(label => !known.includes(label))
    if (wrong) return `${name} has no label ${wrong}`
  }
  return undefined
}

t.test('manifests: every YAML file parses, and names files and commands that exist', async t => {
  for (const file of globSync('{*,grafana/*,kubernetes/*,helm/tollgate/*}.{yaml,yml}', {
    cwd: DEPLOY,
  }))
    for (const document of parseAllDocuments(textOf(file), { merge: true }))
      t.same(document.errors, [], file)
  const folder = dirname(image().env.TOLLGATE_CONFIG ?? '')
  for (const file of ['compose.yaml', 'compose.machines.yaml']) {
    const { services } = parse(textOf(file), { merge: true }) as {
      services: Record<string, { volumes?: string[]; read_only?: boolean; image: string }>
    }
    for (const { volumes = [], image, read_only } of Object.values(services)) {
      if (image === 'tollgate') t.equal(read_only, true, file)
      if (image === 'tollgate')
        t.ok(volumes.includes(`.:${folder}:ro`), 'a file alone cannot be replaced')
      for (const path of volumes.flatMap(each => /^(\.\/[^:]+)/.exec(each)?.[1] ?? []))
        t.ok(textOf(path), path)
    }
  }
  const [{ spec }] = parseAllDocuments(textOf('kubernetes/tollgate.yaml')).map(each =>
    each.toJS(),
  ) as [{ spec: { template: { spec: { containers: readonly Container[] } } } }]
  const [container] = spec.template.spec.containers
  t.equal(container?.readinessProbe.exec.command.join(' '), image().health)
  t.same(container?.args, ['start'])
  t.same(
    renderChart('statefulset.yaml').replaceAll('"', ''),
    sectionOf('StatefulSet'),
    'the chart makes the same',
  )
  const map = parse(renderChart('configmap.yaml')) as { data: Record<string, string> }
  t.equal(map.data['routes.yaml']?.trim(), textOf('routes.yaml').trim())
})
interface Container {
  readonly args: readonly string[]
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } }
}

t.test('admin listener: other containers reach it by the metrics key only', async t => {
  const { settings } = parse(textOf('routes.yaml')) as {
    settings: { admin: string; metrics_key: string }
  }
  t.same(
    [settings.admin, settings.metrics_key],
    ['${ADMIN_HOST:-127.0.0.1}:${ADMIN_PORT:-9090}', '${METRICS_KEY:-}'],
    'on loopback unless a file says otherwise',
  )
  t.notMatch(textOf('compose.yaml'), /9090/, 'not published')
  const { services, secrets } = parse(textOf('compose.machines.yaml'), { merge: true })
  for (const name of ['gateway-1', 'gateway-2'])
    t.match(services[name].environment, { ADMIN_HOST: '0.0.0.0', METRICS_KEY: /:\?/ })
  t.match(secrets, { metrics_key: { environment: 'METRICS_KEY' } })
  t.same(services.prometheus.secrets, ['metrics_key'])
  const [job] = parse(textOf('prometheus.yml')).scrape_configs
  t.equal(job.authorization.credentials_file, '/run/secrets/metrics_key')

  const policy = parse(sectionOf('NetworkPolicy'))
  t.same(parse(renderChart('networkpolicy.yaml')), policy, 'the chart makes the same')
  const [container] = parse(sectionOf('StatefulSet')).spec.template.spec.containers
  t.same(container.env, [{ name: 'ADMIN_HOST', value: '0.0.0.0' }])
  const names = container.ports.map(({ name }: { name: string }) => name)
  const { podSelector, policyTypes, ingress } = policy.spec
  t.same([podSelector.matchLabels, policyTypes], [{ app: 'tollgate' }, ['Ingress']])
  t.same(
    ingress.flatMap(({ ports }: { ports: { port: string }[] }) => ports.map(({ port }) => port)),
    names,
  )
  t.notOk(ingress[0].from, 'customers are not limited')
  t.ok(ingress[1].from.length === 1, 'the admin port is for one namespace')
})

t.test('admin listener: the files of containers start with a metrics key only', async t => {
  const { folder, run } = installPackage(t, {})
  writeFileSync(join(folder, 'routes.yaml'), textOf('routes.yaml'))
  t.match(run('tollgate check'), { status: 0 }, 'alone, on loopback')
  const open = run('ADMIN_HOST=0.0.0.0 tollgate check')
  t.match(open, { status: 1 })
  t.match(run('ADMIN_HOST=0.0.0.0 METRICS_KEY=sixteen-characters tollgate check'), { status: 0 })
})

const sectionOf = (kind: string): string =>
  textOf('kubernetes/tollgate.yaml')
    .slice(textOf('kubernetes/tollgate.yaml').indexOf('apiVersion'))
    .split('---\n')
    .find(each => each.includes(`kind: ${kind}`)) ?? ''

t.test(
  'unit: systemd accepts it',
  { skip: !hasProgram('systemd-analyze') && 'systemd-analyze is not installed' },
  async t => {
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', join(DEPLOY, 'tollgate.service')],
      { encoding: 'utf8' },
    )
    t.equal(status, 0, stderr)
    t.match(
      textOf('tollgate.service'),
      /^Type=notify$[\s\S]*^NotifyAccess=all$[\s\S]*^ExecStart=.* tollgate start$/m,
    )
  },
)

t.test(
  'balancer: nginx accepts its configuration',
  { skip: !hasProgram('nginx') && 'nginx is not installed' },
  async t => {
    const folder = t.testdir({
      'nginx.conf': textOf('nginx.conf').replaceAll(/gateway-\d/g, '127.0.0.1'),
    })
    const { status, stderr } = spawnSync('nginx', ['-t', '-p', folder, '-c', 'nginx.conf'], {
      encoding: 'utf8',
    })
    t.equal(status, 0, stderr)
  },
)

t.test('docs/deployment.md: its commands name files, objects and variables', async t => {
  const lines = blocksOf('docs/deployment.md').flatMap(({ text }) => text.trim().split('\n'))
  const starting = (word: string) => lines.filter(line => line.includes(word))
  for (const line of lines)
    for (const path of line.match(/deploy\/[\w./-]+/g) ?? [])
      t.ok(existsSync(join(ROOT, path)), line)
  t.equal(starting('docker compose').length, 2)
  for (const line of starting('docker compose')) {
    const file = / -f deploy\/(\S+) up$/.exec(line)?.[1] ?? ''
    const [before = ''] = line.split('docker compose')
    const names = [...before.matchAll(/(\w+)=/g)].map(([, name]) => name)
    const needed = [...textOf(file).matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name)
    t.same(new Set(names), new Set(needed), line)
  }
  const manifest = textOf('kubernetes/tollgate.yaml')
  t.equal(starting('kubectl').length, 4)
  for (const line of starting('kubectl')) {
    const [, kind = '', name = ''] = /create (configmap|secret generic) (\w+) /.exec(line) ?? []
    const reference =
      kind === 'configmap' ? `configMap: { name: ${name} }` : `secretRef: { name: ${name} }`
    if (name) t.ok(manifest.includes(reference), line)
    t.ok(manifest.includes(`# ${line.replace('tollgate@db.internal/tollgate', '…')}`), line)
  }
  for (const line of starting('helm '))
    t.match(line, / tollgate deploy\/helm\/tollgate --set-file routes=/)
})

t.test('docs/deployment.md: `init` writes where the unit reads', async t => {
  const { folder, run } = installPackage(t, {})
  const line = blocksOf('docs/deployment.md')
    .flatMap(({ text }) => text.split('\n'))
    .find(each => each.startsWith('tollgate init'))
  const path = /--config (\S+)/.exec(line ?? '')?.[1] ?? ''
  t.ok(textOf('tollgate.service').includes(`TOLLGATE_CONFIG=${path} `))
  t.match(run(line?.replace('/etc', 'etc') ?? 'false'), { status: 0 })
  t.match(run('TOLLGATE_CONFIG=etc/tollgate/routes.yaml tollgate check'), { status: 0 }, folder)
})

interface LockedPackage {
  readonly version: string
  readonly dev?: boolean
  readonly optional?: boolean
}
t.test('documents: SBOM, provenance and audit of an archive', async t => {
  const folder = t.testdir({ 'a.tgz': 'content' })
  const args = [join(ROOT, 'program/release/documents.ts'), join(folder, 'a.tgz'), folder]
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, npm_config_offline: 'true' },
  })
  t.equal(status, 0, stderr)
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const sbom = read('sbom.json') as {
    bomFormat: string
    components: readonly { name: string; purl: string }[]
  }
  t.equal(sbom.bomFormat, 'CycloneDX')
  const names = sbom.components.map(({ name }) => name)
  for (const name of Object.keys(manifest.dependencies)) t.ok(names.includes(name), name)
  t.notOk(names.includes('tap'), 'no development packages')
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  for (const [place, { dev, optional, version }] of Object.entries<LockedPackage>(packages)) {
    if (place === '' || dev || optional) continue
    const name = place.split('node_modules/').at(-1)
    const isListed = sbom.components.some(
      each => each.name === name && each.purl.endsWith(`@${version}`),
    )
    t.ok(isListed, `${place} ${version}`)
  }
  const [subject] = read('provenance.json').subject
  t.equal(subject.digest.sha256, 'ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73')
  const audit = read('audit.json')
  t.ok(audit.vulnerabilities || /npm audit was not run/.test(audit.skipped))
})
