/** Versions of the configuration in the log of actions: what each changed, without secrets. */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { isCode } from '../../engine/kit.ts'
import { hideKeysInPath, hideSecrets } from '../../engine/observe/secret-text.ts'
import type { ConfigFiles, HostBase, Json, ReloadCaller, VersionView } from '../../engine/plugin.ts'
import type { Actor } from './action.ts'
import { folderId } from './keys.ts'
import { recordAction } from './record.ts'
import { lastVersion, noteVersion } from './statements.ts'

export const GATEWAY: Actor = { via: 'gateway', name: 'gateway' }
/** Characters of the lines of a diff. */
const MAX_DIFF = 16_000

/** Records the versions of this data folder that went live and are not in the log: the live one if
 *  it has none of them. Every process may call it; each version is recorded once. */
export const recordVersions = async (host: HostBase): Promise<void> => {
  const folder = folderId(host)
  const known = await lastVersion(host.database, folder)
  const { version: live } = host.config
  if (known !== undefined && known >= live) return
  const versions = (await host.gateway.history()).toSorted((a, b) => a.version - b.version)
  for (const [at, version] of versions.entries()) {
    const isNew = known === undefined ? version.version === live : version.version > known
    if (isNew) await record(host, folder, version, versions[at - 1])
  }
}

const record = async (
  host: HostBase,
  folder: string,
  { version, hash, from, change, time, by }: VersionView,
  before: VersionView | undefined,
): Promise<void> => {
  const after = {
    version,
    hash,
    time,
    host: hostname(),
    folder,
    ...(from !== undefined && { from }),
    ...(change !== undefined && { change }),
    diff: before ? await diffOf(host, before.version, version) : [],
  }
  await recordAction(host, [noteVersion(folder, version)], {
    operation: 'configuration live',
    object: `configuration ${version}`,
    before: before ? { version: before.version, hash: before.hash } : null,
    after,
    actor: by ? actorOf(by) : GATEWAY,
  }).catch(error => {
    if (!isCode(error, 'ACTION_KNOWN')) throw error
  })
}

const actorOf = ({ via, name }: ReloadCaller): Actor =>
  via === 'command line' ? { via, name: via, user: name } : { via, name }

const diffOf = async ({ gateway }: HostBase, from: number, to: number): Promise<Json> => {
  const [files, before, after] = await Promise.all([
    gateway.diff(from, to),
    gateway.files(from),
    gateway.files(to),
  ])
  const hide = hiderOf([before, after])
  let remaining = MAX_DIFF
  return files.map(({ file, lines }) => {
    const shortened = lines.map(hide).filter(line => {
      remaining -= line.length
      return remaining > 0
    })
    const omitted = lines.length - shortened.length
    return { file, lines: shortened, ...(omitted > 0 && { omitted }) }
  })
}

/** Replaces the secrets of these texts by digests, and what looks like one. */
const hiderOf = (all: readonly ConfigFiles[]): ((line: string) => string) => {
  const texts = all.flatMap(files => Object.values(files))
  const secrets = [...new Set(texts.flatMap(secretsIn))].sort((a, b) => b.length - a.length)
  return line => {
    const hidden = secrets.reduce(
      (text, secret) => text.replaceAll(secret, () => digestOf(secret)),
      line,
    )
    return hideSecrets(
      hidden.replace(/(https?:\/\/[^\s"'/]+)(\/[^\s"']*)/g, (_, host: string, path: string) => {
        return host + hideKeysInPath(path)
      }),
    )
  }
}
const digestOf = (secret: string): string =>
  `sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 12)}`

const NAME = String.raw`["']?[\w.-]*(?:key|secret|token|password|passwd|authorization|cookie|credential)s?["']?\s*:`
/** Members whose names say that their values are secrets. */
const LINE_MEMBER = new RegExp(String.raw`^[\s-]*${NAME}(?:\s+(.*))?$`, 'i')
const FLOW_MEMBER = new RegExp(
  String.raw`[{,]\s*${NAME}\s*(\[[^\]]*\]|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,}\]][^,}\]]*)`,
  'gi',
)
const INDENT = /^[\s-]*/
/** The words of a YAML text that may be secret: values of such members, also in lines below. */
export const secretsIn = (text: string): readonly string[] => {
  const secrets: string[] = []
  /** Deeper lines belong to the value. */
  let depth = Number.POSITIVE_INFINITY
  for (const line of text.split('\n').filter(each => each.trim() !== '')) {
    const indent = INDENT.exec(line)?.[0].length ?? 0
    if (indent > depth) {
      secrets.push(...wordsIn(line))
      continue
    }
    const [member, value = ''] = LINE_MEMBER.exec(line) ?? []
    depth = member === undefined ? Number.POSITIVE_INFINITY : indent
    if (member !== undefined) secrets.push(...wordsIn(value))
    for (const [, flow = ''] of line.matchAll(FLOW_MEMBER)) secrets.push(...wordsIn(flow))
  }
  return [...new Set(secrets)]
}
/** Long words that are neither a number nor a variable without a default. */
const wordsIn = (value: string): readonly string[] =>
  value
    .split(/["'[\]{},\s]+|\$\{\w+(?::-)?/)
    .map(each => each.replace(/^-+|:$/g, ''))
    .filter(each => each.length >= 8 && !/^[\d.]+(?:\/\w+)?$/.test(each))
