/** Deletes the variables from this process's environment that an operator may have exported for a
 *  gateway. Helpers that start a process import this file first. */
import { fileURLToPath } from 'node:url'

/** Variables that a gateway, its store, its files and its upstreams read. */
const OPERATORS =
  /^(?:HOST|PORT|ADMIN_PORT|ADMIN_HOSTS|METRICS_KEY|WORKERS|PUBLIC_URL|EGRESS_ALLOW|DATABASE_URL|FILES_URL|FORCE_COLOR|NO_COLOR)$|^(?:TOLLGATE|PG|AWS|GCE|AZURE)_?[A-Z]|_(?:BASE_URL|API_KEY)$|^(?:https?|all|no)_proxy$/i

for (const name of Object.keys(process.env)) if (OPERATORS.test(name)) delete process.env[name]

// Configurations of tests have the plugins of their own folders only. Tests of the shipped ones
// delete this variable from the environment of their gateways.
const NO_PLUGINS = 'none'
process.env.TOLLGATE_PLUGINS = NO_PLUGINS

/** Lets the commands of this process use the shipped plugins until the end of the test. */
export const useShippedPlugins = (t: { teardown(undo: () => void): void }): void => {
  delete process.env.TOLLGATE_PLUGINS
  t.teardown(() => {
    process.env.TOLLGATE_PLUGINS = NO_PLUGINS
  })
}

// Commands without a data folder keep their bundles here, not in the cache of the user.
process.env.XDG_CACHE_HOME = fileURLToPath(new URL('../../.tap', import.meta.url))
