/** Runs one plugin alone, as plugins outside of the repository are tested. */
export * from '../../../program/exports/testing.ts'
