/** The version that went live last, stored for the next start: if everything that it was built from
 *  is unchanged, the gateway serves it at once, and builds afterwards to check. The file is
 *  encrypted with a key made of these texts, lists and variables: it opens only if none of them has
 *  changed, and holds no secret in plain text. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { programVersion } from '../../cli/version.ts'
import { listFiles, readText } from '../../config/disk.ts'
import { digest, stampOf } from '../../config/plugins/bundle-cache.ts'
import { checkWritable, makeFolder } from '../../store/make-folder.ts'
import type { BuiltVersion } from '../messages.ts'

/** What a version was built from. All paths are absolute. */
export interface Inputs {
  /** Files of the configuration: each may be missing. */
  readonly texts: readonly string[]
  readonly lists: readonly (readonly [pattern: string, root: string])[]
  /** Names of environment variables. */
  readonly variables: readonly string[]
  /** Sources of plugins. */
  readonly sources: readonly string[]
}
interface StoredRecord {
  readonly inputs: Inputs
  /** Base64. */
  readonly nonce: string
  readonly tag: string
  readonly sealed: string
}
type TextReader = (path: string) => string | undefined

/** `text`: returns the texts that the version was built from, which may have changed since. */
export const saveStartRecord = (
  config: string,
  cacheFolder: string,
  { inputs, text }: { readonly inputs: Inputs; readonly text: TextReader },
  version: BuiltVersion,
): void => {
  const key = keyOf(inputs, text)
  if (!key) return removeStartRecord(config, cacheFolder)
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(version)), cipher.final()])
  const [nonceText, tag, sealedText] = [nonce, cipher.getAuthTag(), sealed].map(each =>
    each.toString('base64'),
  )
  makeFolder(cacheFolder)
  const path = pathOf(config, cacheFolder)
  const draft = `${path}.${process.pid}`
  const record = { inputs, nonce: nonceText, tag, sealed: sealedText }
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 })
  renameSync(draft, path)
}
export const removeStartRecord = (config: string, cacheFolder: string): void =>
  rmSync(pathOf(config, cacheFolder), { force: true })

/** Undefined if there is no record, or if one of its inputs has changed. */
export const readStartRecord = (config: string, cacheFolder: string): BuiltVersion | undefined => {
  try {
    checkWritable(cacheFolder)
    const path = pathOf(config, cacheFolder)
    const { inputs, ...record } = JSON.parse(readFileSync(path, 'utf8')) as StoredRecord
    const key = keyOf(inputs, readText)
    if (!key) return undefined
    const [nonce, tag, sealed] = [record.nonce, record.tag, record.sealed].map(each =>
      Buffer.from(each, 'base64'),
    ) as [Buffer, Buffer, Buffer]
    const decipher = createDecipheriv('aes-256-gcm', key, nonce)
    decipher.setAuthTag(tag)
    const text = Buffer.concat([decipher.update(sealed), decipher.final()]).toString()
    return JSON.parse(text) as BuiltVersion
  } catch {
    // No record, a damaged one, other inputs, or a folder that a build reports as unusable.
    return undefined
  }
}

const pathOf = (config: string, cacheFolder: string): string =>
  join(cacheFolder, `start-${digest(resolve(config))}.json`)

/** Undefined if a source of a plugin changed so recently that its times prove nothing. */
const keyOf = (inputs: Inputs, text: TextReader): Buffer | undefined => {
  const stamps = inputs.sources.map(stampOf)
  if (stamps.includes('')) return undefined
  const parts = [
    [programVersion(), process.version],
    inputs,
    inputs.texts.map(path => text(path) ?? null),
    inputs.lists.map(([pattern, root]) => listFiles(pattern, root)),
    inputs.variables.map(name => process.env[name] ?? null),
    stamps,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}
