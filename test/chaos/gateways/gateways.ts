/** Several gateways that share a store: their URLs, which a start changes, and the end of what
 *  killed processes have left in the store. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPeers } from '../../../engine/store/reaper.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import type { Takeover } from '../checker.ts'
import type { Tree } from '../gateway-tree.ts'
import type { StoreSetup } from '../stores.ts'

/** ms. */
const LOOK_INTERVAL = 50

/** Sends the URLs whenever one of the gateways has a new one. Returns the function that ends
 *  this. */
export const followUrls = (
  trees: readonly Tree[],
  send: (urls: readonly string[]) => void,
): (() => void) => {
  let last: readonly string[] = []
  const look = (): void => {
    const urls = trees.map((tree, index) => tree.url() || (last[index] ?? ''))
    if (urls.some((url, index) => url !== last[index])) send(urls)
    last = urls
  }
  look()
  const timer = setInterval(look, LOOK_INTERVAL)
  return () => clearInterval(timer)
}

/** Resolves when no killed process is left in the store: only processes of its own folder can read
 *  what it had delivered, and write what it owed. */
export const untilReaped = async (store: StoreSetup, trees: readonly Tree[]): Promise<void> => {
  for (const { data } of trees) {
    const database = await store.open(data)
    const { folder } = database.process ?? {}
    try {
      await eventually(async () => {
        const peers = await readPeers(database)
        const own = peers.filter(each => each.folder === folder?.id && each.key !== undefined)
        const isAlive = await Promise.all(own.map(({ key = '' }) => folder?.isAlive(key)))
        return !isAlive.includes(false) && owedIn(data).length === 0
      })
    } finally {
      await database.close()
    }
  }
}
/** The processes of other gateways that each gateway ended. */
export const takeoversOf = (trees: readonly Tree[]): readonly Takeover[] => {
  const ids = trees.map(({ data }) => readFileSync(join(data, 'processes', 'id'), 'utf8'))
  return trees
    .flatMap(tree => tree.takeovers())
    .map(({ folder, at }) => ({ gateway: ids.indexOf(folder), at }))
}
/** Lists that the store has not taken yet. */
const owedIn = (data: string): readonly string[] => globSync(join(data, 'owed', '*', '*.json'))
