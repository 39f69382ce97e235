/** The checks of `tollgate doctor`: from facts to findings, each with what to do. Pure. */
import type { DoctorFinding } from '../../plugin.ts'
import type { Facts, FileFacts } from './facts.ts'

type Check = (facts: Facts) => Omit<DoctorFinding, 'check'>

const ok = (text: string) => ({ state: 'ok', text, advice: '' }) as const
const warning = (text: string, advice: string) => ({ state: 'warning', text, advice }) as const
const failure = (text: string, advice: string) => ({ state: 'failure', text, advice }) as const

const OLDEST_NODE = [24, 18, 1]
const MIB = 2 ** 20
const MIN_FREE_BYTES = 256 * MIB
const LOW_FREE_BYTES = 2_048 * MIB
const LOW_OPEN_FILES = 4_096
const MIN_OPEN_FILES = 256
/** ms. */
const CLOCK_TOLERANCE = 2_000
const FUTURE_TOLERANCE = 60_000

const node: Check = ({ node: version }) => {
  const parts = version.split('.').map(Number)
  const index = parts.findIndex((part, at) => part !== OLDEST_NODE[at])
  const isOld = index >= 0 && (parts[index] ?? 0) < (OLDEST_NODE[index] ?? 0)
  return isOld
    ? failure(
        `Node ${version} is too old`,
        `install Node ${OLDEST_NODE.join('.')} or newer, or run npm ci`,
      )
    : ok(`Node ${version}`)
}

const dataFolder: Check = ({ data: { path, exists, writable, mode, isNetwork }, store }) => {
  if (!writable)
    return failure(
      `${path} cannot be written`,
      'give the user of the gateway this folder, or set settings.data to another one',
    )
  if (isNetwork && store.kind === 'SQLite')
    return failure(
      `${path} is on a network file system, where SQLite loses data`,
      'set settings.data to a local disk, or settings.database to postgres://…',
    )
  if (exists && (mode & 0o022) !== 0)
    return warning(`others may write to ${path}`, `chmod go-w ${path}`)
  return ok(exists ? path : `${path} will be created at the first start`)
}

const disk: Check = ({ data: { path, freeBytes, freePercent } }) => {
  const free = `${Math.floor(freeBytes / MIB)} MiB free (${Math.floor(freePercent)} %) for ${path}`
  if (freeBytes < MIN_FREE_BYTES)
    return failure(free, 'free some space now: a full disk stops every write of the store')
  return freeBytes < LOW_FREE_BYTES
    ? warning(free, 'free some space, or move settings.data to a larger disk')
    : ok(free)
}

const openFiles: Check = ({ openFiles: limit }) => {
  const text = `at most ${limit} open files for each process`
  const advice = 'raise the limit: LimitNOFILE=65536 in the systemd unit, or ulimit -n 65536'
  if (limit < MIN_OPEN_FILES) return failure(text, advice)
  return limit < LOW_OPEN_FILES
    ? warning(`${text}: about ${Math.floor(limit / 2)} connections`, advice)
    : ok(limit === Number.MAX_SAFE_INTEGER ? 'no limit of open files' : text)
}

const clock: Check = ({ now, data: { newestFile }, store: { ahead } }) => {
  const advice = 'synchronise the clock of this machine (NTP): expiries and signatures depend on it'
  if (newestFile > now + FUTURE_TOLERANCE)
    return failure(
      `the clock says ${new Date(now).toISOString()}, but the data folder was written later`,
      advice,
    )
  return Math.abs(ahead) > CLOCK_TOLERANCE
    ? warning(`the clock of the database is ${ahead} ms ahead of this machine`, advice)
    : ok(new Date(now).toISOString())
}

const WAYS_OUT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'end the other program, or change',
  EADDRNOTAVAIL: 'this machine has no such address: change',
  EACCES: 'ports below 1024 need CAP_NET_BIND_SERVICE; grant it, or change',
}
const ports: Check = ({ ports, running }) => {
  const busyPorts = ports.filter(({ error }) => error !== undefined)
  // The gateway of this folder has its own ports.
  if (running) return ok('the running gateway listens')
  if (busyPorts.length === 0) return ok(ports.map(({ address }) => address).join(', '))
  const text = busyPorts.map(({ address, error }) => `${address}: ${error}`).join('; ')
  const advice = busyPorts.map(
    ({ setting, error = '' }) => `${WAYS_OUT[error] ?? 'change'} settings.${setting}`,
  )
  return failure(text, advice.join('; '))
}

const store: Check = ({ store: { kind, name, version, error, exists, moved } }) => {
  if (error !== undefined)
    return failure(
      `${kind} ${name}: ${error}`,
      kind === 'SQLite'
        ? 'restore a backup: tollgate restore FILE'
        : 'is the server running, and does settings.database (DATABASE_URL) name it rightly?',
    )
  if (moved)
    return failure(
      `${kind} ${name} was moved to ${moved.target} at ${new Date(moved.at).toISOString()}`,
      'set settings.database (DATABASE_URL) to the new store; `tollgate start --anyway` takes the old one into use again',
    )
  return ok(`${kind} ${version}: ${name}${exists ? '' : ' (created at the first start)'}`)
}

/** A group may read: keys of certificates often belong to one, such as `ssl-cert`. */
const isOpen = ({ mode }: FileFacts): boolean => (mode & 0o007) !== 0
const secrets: Check = ({ secretFiles }) => {
  const open = secretFiles.filter(isOpen).map(({ path }) => path)
  return open.length > 0
    ? failure(`others may read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`)
    : ok(`files with secrets: ${secretFiles.length}, all private`)
}

const gateway: Check = ({ running, data: { path } }) => {
  if (!running) return ok(`none runs on ${path}`)
  const { otherStore } = running
  if (otherStore)
    return failure(
      `process ${running.pid} runs on ${path} and uses the store ${otherStore.running}, but this configuration names ${otherStore.here}`,
      'give commands the variables of the gateway (DATABASE_URL)',
    )
  return ok(`process ${running.pid} runs on ${path}`)
}

const proxies: Check = ({ env }) => {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    return failure(
      'NODE_TLS_REJECT_UNAUTHORIZED=0: certificates of upstreams are not checked',
      'unset it; name an own authority with `tls: { ca: FILE }` at the upstream',
    )
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']
  const variables = names.filter(name => env[name])
  return variables.length > 0
    ? warning(
        `${variables.join(', ')} is set, and Tollgate does not read it`,
        'write `proxy: URL` at each upstream that needs one',
      )
    : ok('no proxy variables')
}

const CHECKS: Readonly<Record<string, Check>> = {
  node,
  'data folder': dataFolder,
  disk,
  'open files': openFiles,
  clock,
  gateway,
  ports,
  store,
  secrets,
  proxies,
}

export const diagnose = (facts: Facts): readonly DoctorFinding[] =>
  Object.entries(CHECKS).map(([name, check]) => ({ check: name, ...check(facts) }))
