/** Runs the `welcome` hooks of the plugins: texts that the primary prints at its start. */
import { createDetachedHost } from '../../config/compile/host.ts'
import type { BuilderContext } from './context.ts'
import type { LoadedVersion } from './versions.ts'

/** Longest hook, ms. */
const TIMEOUT = 10_000

/** Resolves to the texts for the operator. A hook that fails is logged and has no text. `url`: of
 *  the gateway, for clients. */
export const runWelcomeHooks = async (
  { resources }: Pick<BuilderContext, 'resources'>,
  version: LoadedVersion,
  url: string,
): Promise<readonly string[]> => {
  const releases: (() => void)[] = []
  const host = createDetachedHost(resources, version, releases, 'a welcome runs no routes')
  const texts: string[] = []
  for (const [name, plugin] of version.plugins) {
    try {
      const text = await Promise.race([plugin.welcome?.(host, { url }), rejectAfterTimeout()])
      if (text) texts.push(text)
    } catch (error) {
      resources.log.error({ plugin: name, error }, 'a welcome failed')
    }
  }
  for (const release of releases) release()
  return texts
}

const rejectAfterTimeout = (): Promise<never> =>
  new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`no result after ${TIMEOUT} ms`)), TIMEOUT).unref(),
  )
