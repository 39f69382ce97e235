/** Plugin `files`: stores files of accounts, for requests and batches. `files:` on a route selects
 *  the operation; all other routes may name files in their requests. */
import { oneOf } from '../../engine/config/shape.ts'
import type { Host, Plugin, Stage } from '../../engine/plugin.ts'
import { routeFormat } from '../conversion/route-format.ts'
import { fileStoreOf } from '../file-store/file-store.ts'
import { FILES_SETTINGS } from '../file-store/settings.ts'
import { migrations } from '../file-store/tables.ts'
import { deleteOldUploads } from '../file-store/upload-rows.ts'
import { AT_PROVIDER } from '../slots.ts'
import { ABOUT } from './about.ts'
import { commands } from './commands.ts'
import { checkBodyLimits } from './problems.ts'
import { RequestFiles } from './request-files.ts'
import { UploadStage } from './upload.ts'
import { UPLOAD_VIEWS } from './uploads.ts'
import { VIEWS as FILE_VIEWS } from './views.ts'

const VIEWS = { ...FILE_VIEWS, ...UPLOAD_VIEWS }

/** The option of routes that do not name the plugin. */
const INLINE = 'inline'
/** ms between two removals of expired files, and of bytes without a file. */
const EXPIRY_INTERVAL = 60_000
const CLEANUP_INTERVAL = 3_600_000
/** ms that an upload in parts is known; it takes parts for an hour. */
const KEEP_UPLOADS = 86_400_000

/** Removes what is over. Accounts upload files; the gateway stores others behind signed URLs. */
const startCleanup = (host: Host): void => {
  const store = fileStoreOf(host)
  host.job('expired files', EXPIRY_INTERVAL, signal => store.removeExpired(signal))
  host.job('old uploads', CLEANUP_INTERVAL, async () => {
    await host.database.write([deleteOldUploads(Date.now() - KEEP_UPLOADS)])
  })
  host.job('orphaned files', CLEANUP_INTERVAL, async signal => {
    const { unfinished, orphans, bytes } = await store.removeOrphans(signal)
    if (unfinished + orphans > 0)
      host.log.info({ unfinished, orphans, bytes }, 'removed bytes that belong to no file')
  })
}

export default {
  schema: oneOf(
    'The operation of the route on stored files. inline: its requests may name stored files, which are sent inside them.',
    ['upload', ...Object.keys(VIEWS), INLINE],
    { type: 'string', examples: ['upload', 'content'] },
  ).schema,
  default: INLINE,
  settings: { files: FILES_SETTINGS },
  // `auth` sets the account; the others set the request that is read. Files are free, but those
  // that a request names are part of its prompt, which `meter` prices.
  after: ['auth', 'validate', 'model', 'responses'],
  before: ['meter', 'translate'],
  check: checkBodyLimits,
  migrations,
  commands,
  setup(name, host): Stage {
    if (name === INLINE) {
      const codec = routeFormat(host)?.codec
      return codec ? new RequestFiles(host, codec) : {}
    }
    if (name === 'upload' || name === 'signed') startCleanup(host)
    if (name === 'upload') return new UploadStage(fileStoreOf(host))
    const view = VIEWS[name]
    if (!view) throw new Error(`there is no view "${name}"`)
    return {
      answers: true,
      describe: () => ABOUT[name] ?? {},
      // Google's clients use the same paths for files at the provider.
      handle: (exchange, next) => (exchange.slots.get(AT_PROVIDER) ? next() : view(exchange, host)),
      explain: () => ({ view: name }),
    }
  },
} satisfies Plugin<string>
