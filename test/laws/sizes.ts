/** Limits of the engine and of folders, and the folders that a request passes through. */
import { dirname } from 'node:path'
import type { SourceFile } from './imports.ts'

/** Folders of the engine that a request passes through, beside the files directly in engine/. */
const REQUEST_PART = [
  'http-client',
  'observe',
  'request',
  'response',
  'snapshot',
  'upstream',
  'websocket',
]
/** Subsystems: the request part imports only their types. */
export const SUBSYSTEMS = ['cli', 'config', 'egress', 'processes', 'quota', 'request-log', 'store']
/** Files that may stand directly in engine/: its entry points. */
const ENTRY_POINTS = [
  'bin.cjs',
  'cli.ts',
  'errors.ts',
  'gateway.ts',
  'kit.ts',
  'plugin.ts',
  'server.ts',
]
/** A ratchet: a change that needs more lines adds a row with its reason. */
const REQUEST_PART_SUM: readonly (readonly [lines: number, reason: string])[] = [
  [7_748, 'the sum when this table began'],
  [9, 'what removes secrets from log lines is a function that plugins use, too'],
  [8, 'what arrives before the first request of a connection is read first'],
  [38, 'where targets are picked, it is recorded why others were not'],
  [65, 'JSON keys have a table of hashes: many keys cost a third of it'],
  [40, 'browsers ask before they call another origin: the route answers, before its pipeline'],
  [330, 'a WebAssembly pass checks bodies and cuts long texts: 220 KB take 0.6 of their parse'],
  [
    140,
    'a head that is refused is answered in the dialect of its path, also if the parser refuses it',
  ],
  [40, 'a rule holds for every list of targets that any stage sets: no request leaves its zone'],
  [5, 'a parameter before a verb may contain its first character, as names of models do'],
  [
    145,
    'a key that a plugin limits is left before its 429: another one is tried, or the call waits',
  ],
  [90, 'targets may be picked by the beginning of a request that they got before'],
  [60, 'the gateway probes ejected addresses itself, so that no request of a client does'],
  [110, 'targets may be picked by the time until their first content, which only the engine sees'],
  [45, 'an error event that comes in pieces is searched whole, for every form of a credential'],
  [19, 'the cheapest targets are found before a conversation or a turn decides'],
  [150, 'translated requests have their texts copied as bytes: 0.98 of a whole one, 1.8 before'],
  [5, 'errors inside a 200 have more names than error: parts of keys are removed there, too'],
  [10, 'answers of 1 KiB are searched for every part of a key, whatever their members: 1 us'],
  [17, 'a copy of a request goes only to a target that the rules of the request permit'],
  [10, 'a submit is repeated whose connection broke before it was written whole'],
  [40, 'headers of every reply are searched for encoded credentials, in 0.5 us'],
  [2, 'an attempt without content is made once more with another key before the next target'],
  [4, 'a gateway inside a test serves beside long turns of the test, which are no overload'],
  [165, 'targets that are slow for their first request get one of the gateway itself before'],
  [33, 'an answer in an unknown coding is a failed attempt while another target is left'],
  [61, 'large bodies are read and copied in turns: twenty at once took turns of 107 ms'],
  [20, 'health knows since when an address or a key is in its state'],
  [13, 'texts in arrays are found by index: a loop over names took 1.7 of 11 s of translations'],
  [3, 'a charge that the store refuses later, since another gateway ended its call, is owed'],
  [3, 'a refusal that is charged is sent once its charge is durable'],
  [277, 'a body that repeats the one before is parsed where it differs: 40 % less CPU at 60 KB'],
]
export const REQUEST_PART_LINES = REQUEST_PART_SUM.reduce((sum, [lines]) => sum + lines, 0)
const FOLDER_FILES = 25

/** A message for each exceeded limit, with its path. */
export const sizeBreaches = (
  files: readonly SourceFile[],
): { readonly path: string; readonly message: string }[] => [
  ...requestPart(files),
  ...looseFiles(files),
  ...fullFolders(files),
]

/** The folder of the engine that a file belongs to: '' directly in engine/; undefined outside. The
 *  two entry points of the command line belong to cli. */
export const engineFolder = (path: string): string | undefined => {
  if (path === 'engine/cli.ts' || path === 'engine/bin.cjs') return 'cli'
  return /^engine\/([^/]+)\//.exec(path)?.[1] ?? (path.startsWith('engine/') ? '' : undefined)
}

const requestPart = (files: readonly SourceFile[]) => {
  const lines = files
    .filter(({ path }) => ['', ...REQUEST_PART].includes(engineFolder(path) ?? 'none'))
    .reduce((sum, { text }) => sum + text.trimEnd().split('\n').length, 0)
  const message = `the request part has ${lines} lines; at most ${REQUEST_PART_LINES}; more needs a row in test/laws/sizes.ts`
  return lines <= REQUEST_PART_LINES ? [] : [{ path: 'engine', message }]
}

const looseFiles = (files: readonly SourceFile[]) =>
  files.flatMap(({ path }) => {
    const folder = engineFolder(path)
    if (folder === undefined) return []
    if (ENTRY_POINTS.includes(path.slice('engine/'.length))) return []
    if (folder === '') return [{ path, message: 'only entry points stand directly in engine/' }]
    const isKnown = [...REQUEST_PART, ...SUBSYSTEMS].includes(folder)
    return isKnown ? [] : [{ path, message: `engine/${folder}/ is not in test/laws/sizes.ts` }]
  })

const fullFolders = (files: readonly SourceFile[]) =>
  [...Map.groupBy(files, ({ path }) => dirname(path))].flatMap(([path, inside]) => {
    const message = `${inside.length} files; at most ${FOLDER_FILES} in a folder`
    return inside.length <= FOLDER_FILES ? [] : [{ path, message }]
  })
