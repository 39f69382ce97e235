/** Runs after `npm ci` in a clone. Plain JavaScript: `node` may be an old one here, and an install
 *  must not fail for what only makes starts faster. */
'use strict'
const { judge } = require('../../engine/bin.cjs')

const { refuse, change } = judge({ version: process.versions.node, flags: [], pinned: undefined })
// npx prepares the clone once more, maybe beside a gateway that serves.
if (process.env.npm_command !== 'exec' && !refuse && !change) import('./prebuild.ts')
